"""Tasks over the real servers: replay, edges, depths, splits apart, allowed tools, and what cannot be made."""

from __future__ import annotations

import multiprocessing
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tasks.params import Synthesize
from tasks.records import Task, digest_of, write_shards
from tasks.servers import environment
from tasks.servers.world import HELD_OUT_FROM
from tasks.synthesize.grammar import grammar, spoken
from tasks.synthesize.solve import chain_depth
from tasks.synthesize.splits import combination, mark_unseen, names_in, shared_names
from tasks.synthesize.tasks import VALIDATION_FROM, SynthesisError, TooFewError, make
from tasks.synthesize.worlds import Job, Split, draw_world, kept_out, leaks, sources
from tasks.toolbox.pointer import at

SPOKEN = spoken()
SMALL = Synthesize(train=120, validation=24, test=60, worlds=6, depths={1: 1.0, 2: 2.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0})


@pytest.fixture(scope="module")
def made() -> dict[Split, list[Task]]:
    return {split: make(environment(SPOKEN), SMALL, 0, split)[0] for split in ("train", "validation", "test")}


@pytest.fixture(scope="module")
def everything(made: dict[Split, list[Task]]) -> list[Task]:
    return [task for tasks in made.values() for task in tasks]


def test_gold_solutions_replay(everything: Sequence[Task]) -> None:
    for task in everything:
        with environment(SPOKEN).session(task.session_seed) as session:
            before = session.digest()
            results = [session.call(call.name, call.arguments, call.id) for call in task.gold.calls]
            assert all(result.ok for result in results)
            assert session.digest() == task.gold.digest
        if task.gold.answer is None:
            assert task.gold.digest != before, "doing nothing would pass"
        else:
            assert isinstance(task.gold.answer, str | int | float)


def test_every_edge_hands_over_the_value_that_the_call_needs(everything: Sequence[Task]) -> None:
    edges = 0
    for task in everything:
        with environment(SPOKEN).session(task.session_seed) as session:
            contents = {c.id: session.call(c.name, c.arguments, c.id).content for c in task.gold.calls}
        for call in task.gold.calls:
            for edge in call.needs:
                value = at(contents[edge.source], edge.path)
                assert value == at(call.arguments, edge.argument) and int(edge.source) < int(call.id)
                edges += 1
        assert task.depth == len(task.gold.calls) and task.chain_depth == chain_depth(task.gold.calls)
    assert edges > len(everything) / 2
    assert {task.chain_depth for task in everything} >= {1, 2, 3, 4}


def test_depths_are_as_weighed_and_records_are_filled(made: dict[Split, list[Task]]) -> None:
    for split, counts in (("train", (17, 34, 17, 17, 17, 18)), ("test", (9, 17, 9, 8, 9, 8))):
        found = Counter(task.depth for task in made[split])
        assert sorted(found) == [1, 2, 3, 4, 5, 6]
        assert all(abs(found[d] - n) <= 1 for d, n in enumerate(counts, 1)), found
    none = make(environment(("banking",)), Synthesize(train=12, worlds=4, depths={1: 0.0, 2: 3.0, 3: 1.0}), 0, "train")[0]
    assert Counter(task.depth for task in none) == {2: 9, 3: 3}
    for split, tasks in made.items():
        assert [task.id for task in tasks] == [f"{split}-{n:05d}" for n in range(len(tasks))]
        assert len({task.turns[0] for task in tasks}) == len(tasks)
        for task in tasks:
            gold = {call.name for call in task.gold.calls}
            assert gold | set(task.distractors) == set(task.tools) and not gold & set(task.distractors)
            assert len(task.tools) == len(set(task.tools))
            assert {environment(SPOKEN).specs[name].server for name in task.tools} == set(task.servers)
            assert 1 <= len(task.distractors) <= 4


def test_splits_live_in_worlds_of_their_own(made: dict[Split, list[Task]]) -> None:
    assert {task.session_seed for task in made["train"]} == set(range(6))
    assert {task.session_seed for task in made["validation"]} == {VALIDATION_FROM, VALIDATION_FROM + 1}
    assert {task.session_seed for task in made["test"]} == set(range(HELD_OUT_FROM, HELD_OUT_FROM + 5))
    assert [task.unseen_entities for task in made["test"]] == [True] * 60
    assert len(names_in(made["train"])) > 50 and len(names_in(made["test"])) > 20
    assert shared_names([*made["train"], *made["validation"]], made["test"]) == []
    same_worlds = make(environment(SPOKEN), SMALL, 1, "train")[0]
    assert shared_names(made["train"], same_worlds), "the check sees names that are shared"


def test_names_are_those_that_the_request_says(everything: Sequence[Task]) -> None:
    for task in everything:
        said = task.turns[0].casefold()
        assert all(name.casefold() in said for name in task.provenance["names"])
        for call in task.gold.calls:  # an argument that a user says by name alone
            if call.name in ("find_account", "find_event", "find_folder", "find_wishlist"):
                (name,) = call.arguments.values()
                assert name in task.provenance["names"]


def test_no_answer_stands_in_its_request(everything: Sequence[Task]) -> None:
    assert not [task for task in everything if leaks(task.gold.answer, task.turns[0])]
    assert sum(task.gold.answer is not None for task in everything) > 40


@pytest.mark.parametrize(
    ("answer", "text", "found"),
    [
        (40, "Pay 40, please.", True),
        (40.0, "Pay 40 to Ann.", True),
        (40, "Pay 400 to Ann.", False),
        ("Green Tea", "Do I have green tea?", True),
        ("14:30", "Is it at 14:30?", True),
        (12.5, "Take 12.50 out.", False),
        (12.5, "Is it 12.5?", True),
        (True, "Is it true?", False),
        (None, "None of it.", False),
    ],
)
def test_leaks(answer: object, text: str, found: bool) -> None:
    assert leaks(answer, text) is found


def test_unseen_combinations_are_the_truth(made: dict[Split, list[Task]]) -> None:
    seen = {combination(task) for task in made["train"]}
    marked = mark_unseen(made["train"], made["test"])
    assert [task.id for task in marked] == [task.id for task in made["test"]]
    for task in marked:
        tools = combination(task)
        assert task.unseen_combination == (len(tools) > 1 and tools not in seen)
    kept = [task for task in marked if kept_out(set(combination(task)), SMALL.unseen_combinations)]
    assert kept and all(task.unseen_combination for task in kept)
    assert not any(kept_out(set(combination(t)), SMALL.unseen_combinations) for t in [*made["train"], *made["validation"]])


def test_the_kept_out_rule() -> None:
    pairs = [{f"tool_{a}", f"tool_{b}"} for a in range(40) for b in range(a)]
    share = sum(kept_out(pair, 0.15) for pair in pairs) / len(pairs)
    assert 0.1 < share < 0.2
    assert not any(kept_out(pair, 0.0) for pair in pairs) and all(kept_out(pair, 1.0) for pair in pairs)
    assert not kept_out({"alone"}, 1.0)
    assert all(kept_out(pair, 0.3) for pair in pairs if kept_out(pair, 0.15))


def test_requests_may_need_two_servers(made: dict[Split, list[Task]]) -> None:
    both = [task for task in made["train"] if len(task.servers) == 2]
    assert both and all(task.depth >= 4 for task in both)
    options, weights = sources(tuple(SPOKEN), (), 4)
    assert {len(each) for each in options} == {1, 2} and len(weights) == len(options) == 10
    assert {len(each) for each in sources(tuple(SPOKEN), (), 3)[0]} == {1}


def test_the_same_bytes_in_one_process_and_in_two(made: dict[Split, list[Task]], tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for split in ("train", "test"):
            write_shards(tmp_path / "two" / split, make(environment(SPOKEN), SMALL, 0, split, pool=pool)[0], Task)
            write_shards(tmp_path / "one" / split, made[split], Task)
    assert digest_of(tmp_path / "one") == digest_of(tmp_path / "two")
    other = make(environment(SPOKEN), SMALL, 1, "test")[0]
    assert not {task.turns[0] for task in other} & {task.turns[0] for task in made["test"]}


def test_requests_that_are_taken_are_drawn_again(made: dict[Split, list[Task]]) -> None:
    taken = {task.turns[0] for task in made["test"][::2]}
    told: list[int] = []
    tasks, drops = make(environment(SPOKEN), SMALL, 0, "test", taken=taken, advance=told.append)
    assert not taken & {task.turns[0] for task in tasks} and len(tasks) == sum(told) == 60
    assert drops["duplicate"] >= 30
    assert Counter(task.depth for task in tasks) == Counter(task.depth for task in made["test"])
    kept = {task.turns[0] for task in tasks} & {task.turns[0] for task in made["test"]}
    assert len(kept) == 30, "the others stay"


def test_worlds_that_say_the_same_are_told_apart() -> None:
    few = Synthesize(train=20, worlds=5, depths={1: 1.0}, tools=("df", "list_trash", "list_tags"))
    tasks, drops = make(environment(("filesystem",)), few, 0, "train")
    assert len({task.turns[0] for task in tasks}) == 20 and drops["duplicate"]
    assert {call.name for task in tasks for call in task.gold.calls} == {"df", "list_trash", "list_tags"}


def test_drops_are_counted_by_reason() -> None:
    job = Job(tuple(SPOKEN), SMALL, 3, "train", 2, tuple((n, 5) for n in range(40)))
    drawn = draw_world(job)
    assert sorted(drawn.tasks) == list(range(40))
    reasons = {
        "no_plan",
        "kept_out",
        "refused",
        "other_entity",
        "no_effect",
        "no_answer",
        "leak",
        "replay",
        "spare_call",
        "duplicate",
    }
    assert {"no_plan", "kept_out", "refused"} <= set(drawn.drops) <= reasons
    assert draw_world(Job(tuple(SPOKEN), SMALL, 3, "test", 2, tuple((n, 5) for n in range(40)))).drops["kept_out"] == 0


# -- settings that cannot work ----------------------------------------------------------------------


def refused(settings: Synthesize, *servers: str, split: Split = "train") -> str:
    with pytest.raises(SynthesisError) as caught:
        make(environment(servers or ("banking",)), settings, 0, split)
    return str(caught.value)


def test_unknown_and_useless_tools_are_named() -> None:
    assert "no server has a tool 'get_balanse'; the nearest name is get_balance" in refused(Synthesize(tools=("get_balanse",)))
    message = refused(Synthesize(tools=("find_account", "get_event")))
    assert "no request to banking can be made with find_account, get_event alone" in message
    settings = Synthesize(train=6, worlds=4, depths={1: 1.0}, tools=("get_balance", "get_event"))
    tasks, _ = make(environment(("banking",)), settings, 0, "train")
    assert {call.name for task in tasks for call in task.gold.calls} == {"get_balance"}


def test_depths_that_no_plan_has_are_named() -> None:
    message = refused(Synthesize(depths={1: 1.0, 2: 1.0, 3: 1.0}, tools=("find_account", "get_balance")))
    assert "no request of banking takes 3 calls with the tools of synthesize.tools" in message
    assert "Set the weight of depth 3 to 0, or allow more tools" in message


def test_too_few_tasks_name_what_to_change() -> None:
    message = refused(Synthesize(train=300, worlds=4, depths={1: 1.0}, tools=("df",)), "filesystem")
    assert "train tasks were not found" in message and "dropped as duplicate" in message
    assert "synthesize.worlds" in message and "synthesize.train" in message and "depth 1 in synthesize.depths" in message
    with pytest.raises(TooFewError, match=r"dropped as kept_out: .*Lower synthesize\.unseen_combinations"):
        settings = Synthesize(train=8, worlds=4, depths={2: 1.0}, tools=("find_card", "get_card"), unseen_combinations=1.0)
        make(environment(("banking",)), settings, 0, "train")


def test_a_server_without_a_grammar_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar.cache_clear()
    monkeypatch.setitem(sys.modules, "tasks.synthesize.grammar.banking", None)
    try:
        message = refused(SMALL, "banking")
    finally:
        grammar.cache_clear()
    assert "servers.names: banking has no grammar of requests (tasks/synthesize/grammar/banking.py)" in message
