"""The planner: costs of what can be said, plans of exactly the wanted number of calls, and their execution."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tasks.records import Edge, GoldCall
from tasks.servers import Session, environment
from tasks.servers.sampler import Live, sample
from tasks.servers.world import World
from tasks.synthesize.grammar import Constant, Field, Goal, Grammar, Number, Ref, Referent, grammar, spoken
from tasks.synthesize.lexicon import MOST, Lexicon, references, share
from tasks.synthesize.plan import Bound, CannotError, Drawer, Plan, Planned
from tasks.synthesize.solve import chain_depth, execute, replays, spare
from tasks.toolbox.pointer import at

SPOKEN = spoken()
SEED = 11


@cache
def live(server: str) -> Live:
    with environment((server,)).session(SEED) as session:
        return sample(session)


def drawer(server: str, rng: random.Random, tools: frozenset[str] | None = None) -> Drawer:
    world = World(SEED, "requests")
    world.rng = rng
    return Drawer(live(server), lexicon(server, tools), world, rng)


@cache
def lexicon(server: str, tools: frozenset[str] | None = None) -> Lexicon:
    return Lexicon([grammar(server)], tools)


def plans(server: str, depth: int, count: int, tools: frozenset[str] | None = None) -> list[Plan | None]:
    """`count` draws; None for one that cannot be completed."""
    rng = random.Random(f"{server}/{depth}")
    drawn: list[Plan | None] = []
    for _ in range(count):
        try:
            drawn.append(drawer(server, rng, tools).draw(depth))
        except CannotError:
            drawn.append(None)
    return drawn


TOY = Grammar(
    "toy",
    [
        Referent("thing", None, {}, "", ["{id}"]),
        Referent("thing", "find_thing", {"name": Field("name")}, "/id", ["the {name}"]),
        Referent("thing", "thing_of", {"box_id": Ref("box", via="box_id")}, "/thing", ["what is in {box_id}"]),
        Referent("box", "find_box", {"name": Field("name")}, "/id", ["the {name} box"]),
        Referent("size", "get_size", {"thing_id": Ref("thing")}, "/size", ["the size of {thing_id}"], of="thing"),
    ],
    [
        Goal("count", {}, ["how many are there"], answer="/count"),
        Goal("drop", {"thing_id": Ref("thing")}, ["drop {thing_id}"]),
        Goal("cut", {"thing_id": Ref("thing"), "size": Ref("size")}, ["cut {thing_id} to {size}"], weight=2.0),
    ],
)


def test_costs_of_naming_follow_from_the_grammar() -> None:
    toy = Lexicon([TOY])
    assert {w.referent.tool: w.cost.index(1.0) for w in toy.ways("thing")} == {None: 0, "find_thing": 1, "thing_of": 2}
    assert [way.referent.tool for way, _ in toy.weighted("thing", 3, 2)] == ["thing_of"]
    assert [way.referent.tool for way, _ in toy.weighted("thing", 0, None)] == [None, "find_thing"]
    count, drop, cut = toy.wants
    assert count.cost[1] == 1.0
    assert drop.cost[:5] == pytest.approx((0, 1 / 3, 1 / 3, 1 / 3, 0))
    assert cut.cost[:6] == pytest.approx((0, 0, 1 / 3, 1 / 3, 1 / 3, 0))  # the thing's size takes one lookup more, not two


def test_the_probability_of_a_length_is_that_of_free_draws() -> None:
    toy = Lexicon([TOY])
    rng = random.Random(0)

    def free(depth: int) -> bool:
        left = depth
        while left > 0:
            (want,) = rng.choices(toy.wants, [w.goal.weight for w in toy.wants])
            (calls,) = rng.choices(range(MOST + 1), want.cost)
            left -= calls
            if want.goal.answer:
                break
        return left == 0

    for depth in (1, 2, 4, 6):
        share_of = sum(free(depth) for _ in range(8000)) / 8000
        assert toy.reach[depth] == pytest.approx(share_of, abs=0.02)


def test_what_no_allowed_call_can_find_is_not_asked_for() -> None:
    toy = Lexicon([TOY], frozenset({"drop", "cut"}))
    assert [w.goal.tool for w in toy.wants] == ["drop", "cut"]
    assert not any(toy.wants[1].cost) and toy.reach[1] and toy.reach[3]
    nothing = Lexicon([TOY], frozenset({"find_thing"}))
    assert not nothing.wants and not any(nothing.reach[1:])


def test_shares_leave_what_the_others_can_take() -> None:
    rng = random.Random(0)
    one = (0.5, 0.5, *[0.0] * (MOST - 1))
    exact = (0.0, 0.0, 1.0, *[0.0] * (MOST - 2))
    assert {share(one, exact, 3, rng) for _ in range(40)} == {1}
    assert {share(one, exact, 2, rng) for _ in range(40)} == {0}
    assert {share(one, exact, 8, rng) for _ in range(40)} == {0, 1}  # some remain
    assert share(exact, one, 1, rng) is None and share(exact, one, -1, rng) is None


def test_references_stand_in_the_order_of_their_slots() -> None:
    slots = {"a": Constant({"x": [Ref("one"), 3, Ref("two")], "y": Number(1, 2)}), "b": Ref("three")}
    assert [ref.entity for ref in references(slots)] == ["one", "two", "three"]


@pytest.mark.parametrize("server", SPOKEN)
@pytest.mark.parametrize("depth", range(1, 7))
def test_plans_have_the_wanted_number_of_calls(server: str, depth: int) -> None:
    drawn = plans(server, depth, 30)
    found = [plan for plan in drawn if plan]
    assert len(found) >= 10, "a good part of the draws comes out"
    specs = environment((server,)).specs
    for plan in found:
        assert len(plan.calls) == depth
        assert [call.id for call in plan.calls] == [str(n) for n in range(depth)]
        assert len(set(plan.goals)) == len(plan.goals) == len(plan.clauses)
        assert not any(clause.question for clause in plan.clauses[:-1]), "a question ends the request"
        assert plan.clauses[-1].question == (plan.answer is not None)
        for number, call in enumerate(plan.calls):
            assert call.tool in specs
            assert all(int(bound.source) < number for bound in bounds(call.arguments))


def bounds(value: object) -> list[Bound]:
    if isinstance(value, Bound):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [bound for each in inner for bound in bounds(each)]


def test_every_lookup_is_used_and_requests_name_what_they_mean() -> None:
    for server in SPOKEN:
        for plan in filter(None, plans(server, 4, 20)):
            used = {bound.source for call in plan.calls for bound in bounds(call.arguments)}
            goals = [call.id for call in plan.calls if call.tool in plan.goals]
            assert used | set(goals) == {call.id for call in plan.calls}
            said = " ".join(clause.text for clause in plan.clauses)
            assert "{" not in said
            assert all(name in said for name in plan.names)


def test_only_allowed_tools_are_planned() -> None:
    allowed = frozenset({"find_account", "get_balance", "transfer_money"})
    for depth in (1, 2, 3):
        found = [plan for plan in plans("banking", depth, 30, allowed) if plan]
        assert found and {call.tool for plan in found for call in plan.calls} <= allowed


# -- execution -----------------------------------------------------------------------------------


@pytest.fixture
def session() -> Session:
    return environment(("banking",)).session(SEED)


def some(kind: str, **facts: object) -> tuple[str, dict[str, object]]:
    """An entity of the world with these facts."""
    return next((key, its) for key, its in live("banking").entities[kind].items() if facts.items() <= its.items())


def chained(expected: str, name: str) -> Plan:
    """Find an account by its name, then ask for its balance."""
    lookup = Planned("0", "find_account", {"name": name})
    return Plan(
        [lookup, Planned("1", "get_balance", {"account_id": Bound("0", "/account_id", expected)})], answer=("1", "/balance")
    )


def test_a_plan_that_holds_becomes_literal_calls_with_edges(session: Session) -> None:
    key, facts = some("account")
    outcome = execute(chained(key, str(facts["name"])), session, session.digest())
    assert not isinstance(outcome, str)
    assert outcome.calls[1] == GoldCall("1", "get_balance", {"account_id": key}, [Edge("0", "/account_id", "/account_id")])
    assert outcome.answer == facts["balance"] and chain_depth(outcome.calls) == 2
    assert replays(session.environment, SEED, outcome) and not replays(session.environment, SEED + 1, outcome)


def test_plans_that_do_not_hold_say_why(session: Session) -> None:
    untouched = session.digest()
    key, facts = some("account")
    name = str(facts["name"])
    assert execute(chained("acc_000", name), session, untouched) == "other_entity"
    assert execute(chained(key, "No Such Name"), session, untouched) == "refused"
    assert (
        execute(Plan([Planned("0", "find_account", {"name": name})], answer=("0", "/nothing")), session, untouched)
        == "no_answer"
    )
    assert execute(Plan([Planned("0", "list_accounts", {})], answer=("0", "/0")), session, untouched) == "no_answer"
    card, _ = some("card", status="active")
    calls = [Planned("0", "freeze_card", {"card_id": card}), Planned("1", "unfreeze_card", {"card_id": card})]
    assert execute(Plan(calls), session, untouched) == "no_effect"
    assert not isinstance(execute(Plan(calls[:1]), session, untouched), str)


def test_a_change_that_could_be_left_out_is_found(session: Session) -> None:
    (one, _), (other, _) = list(live("banking").entities["standing_payment"].items())[:2]
    change = Planned("0", "change_standing", {"standing_id": one, "amount": 77})
    for last, left_out in ((one, True), (other, False)):
        with session.environment.session(SEED) as fresh:
            plan = Plan([change, Planned("1", "cancel_standing", {"standing_id": last})])
            outcome = execute(plan, fresh, fresh.digest())
        assert not isinstance(outcome, str)
        assert spare(session.environment, SEED, outcome) is left_out


def test_pointers_and_chains() -> None:
    content = {"a": [{"b/c": 1}], "~": 2}
    assert at(content, "/a/0/b~1c") == 1 and at(content, "/~0") == 2 and at(content, "") == content
    for pointer in ("/a/1", "/a/x", "/b", "/~0/z"):
        with pytest.raises(LookupError):
            at(content, pointer)
    one, two = GoldCall("0", "t", {}), GoldCall("1", "t", {})
    three = GoldCall("2", "t", {}, [Edge("0"), Edge("1")])
    four = GoldCall("3", "t", {}, [Edge("2")])
    assert [chain_depth(calls) for calls in ([], [one, two], [one, two, three], [one, two, three, four])] == [0, 1, 2, 3]
