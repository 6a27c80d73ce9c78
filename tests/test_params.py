"""Settings: what is refused and with which words, how overlays merge, and what `use` may touch."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.params import Params, ParamsError, Server, load, main, merge, parse, read_yaml, show, use
from tasks.servers import NAMES

ROOT = Path(__file__).parents[1]
BASE: dict[str, Any] = {"rounds": {"r1": {"from": "warmup"}}}
COMMENTED = """\
# What runs.
seed: 3  # drawn by hand
rounds:
  r1: {from: warmup}  # the only one
rollout:
  samples: 8
  # how far to go
  limits: {turns: 6}
"""


def refused(values: dict[str, Any]) -> list[str]:
    with pytest.raises(ParamsError) as caught:
        parse(merge(BASE, values), "overlay.yaml")
    lines = str(caught.value).splitlines()
    assert all(line.startswith("overlay.yaml: ") for line in lines)
    return [line.removeprefix("overlay.yaml: ") for line in lines]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "params.yaml", COMMENTED)
    return tmp_path


def test_the_projects_own_files_can_run() -> None:
    assert load(ROOT / "params.yaml").seed >= 0
    for overlay in (ROOT / "presets").glob("*.yaml"):
        load(ROOT / "params.yaml", overlay)


def test_defaults_are_filled_in_and_frozen() -> None:
    params = parse(BASE, "x")
    assert params.rollout.limits.turns == 10
    assert params.rounds["r1"].from_ == "warmup"
    with pytest.raises(ValidationError, match="frozen"):
        params.rollout.samples = 3  # type: ignore[misc]


def test_the_servers_are_those_of_the_library() -> None:
    assert set(typing.get_args(Server)) == set(NAMES)


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"rollouts": {}}, "rollouts: unknown key; did you mean rollout?"),
        ({"rollout": {"sample": 4}}, "rollout.sample: unknown key; did you mean rollout.samples?"),
        ({"rollout": {"limits": {"turn": 4}}}, "rollout.limits.turn: unknown key; did you mean rollout.limits.turns?"),
        ({"rounds": {"r1": {"form": "policy"}}}, "rounds.r1.form: unknown key; did you mean rounds.r1.from?"),
        ({"tracking": {"zzz": 1}}, "tracking.zzz: unknown key; known here: enabled, uri, experiment, traces"),
        ({"reward": {"recipes": {"tier": {"teir": 1.0}}}}, "reward.recipes.tier.teir: 'teir' is wrong: it should be 'tier' or"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(values: dict[str, Any], line: str) -> None:
    assert any(found.startswith(line) for found in refused(values))


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"seed": "8"}, "seed: '8' is wrong: it should be a valid integer"),
        ({"seed": True}, "seed: True is wrong: it should be a valid integer"),
        ({"seed": 8.0}, "seed: 8.0 is wrong: it should be a valid integer"),
        ({"seed": -1}, "seed: -1 is wrong: it should be greater than or equal to 0"),
        ({"seed": None}, "seed: None is wrong: it should be a valid integer"),
        ({"seed": [1]}, "seed: [1] is wrong: it should be a valid integer"),
        ({"tracking": {"enabled": "yes"}}, "tracking.enabled: 'yes' is wrong: it should be a valid boolean"),
        ({"tracking": {"enabled": 1}}, "tracking.enabled: 1 is wrong: it should be a valid boolean"),
        ({"tracking": {"uri": 5}}, "tracking.uri: 5 is wrong: it should be a valid string"),
        ({"grpo": {"learning_rate": 0}}, "grpo.learning_rate: 0 is wrong: it should be greater than 0"),
        ({"grpo": {"learning_rate": math.inf}}, "grpo.learning_rate: inf is wrong: it should be a finite number"),
        ({"grpo": {"learning_rate": math.nan}}, "grpo.learning_rate: nan is wrong: it should be a finite number"),
        ({"grpo": {"loss": "ppo"}}, "grpo.loss: 'ppo' is wrong: it should be 'grpo', 'bnpo', 'dr_grpo' or 'dapo'"),
        ({"rollout": None}, "rollout: None is wrong: it should be a mapping"),
        ({"rollout": 3}, "rollout: 3 is wrong: it should be a mapping"),
        ({"rollout": {"samples": 1}}, "rollout.samples: 1 is wrong: it should be greater than or equal to 2"),
        ({"distill": {"held_out": 1.0}}, "distill.held_out: 1.0 is wrong: it should be less than 1"),
        ({"distill": {"min_gap": 1.5}}, "distill.min_gap: 1.5 is wrong: it should be less than or equal to 1"),
        ({"servers": {"names": []}}, "servers.names: [] is wrong: tuple should have at least 1 item, not 0"),
        ({"servers": {"names": ["bnking"]}}, "servers.names.0: 'bnking' is wrong: it should be 'banking', "),
        ({"servers": {"names": "banking"}}, "servers.names: 'banking' is wrong: it should be a valid tuple"),
        ({"synthesize": {"distractors": [1]}}, "synthesize.distractors.1: missing; add it"),
        ({"synthesize": {"depths": {"one": 1.0}}}, "synthesize.depths.one: 'one' is wrong: it should be a valid integer"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_and_the_reason(values: dict[str, Any], line: str) -> None:
    assert any(found.startswith(line) for found in refused(values)), refused(values)


def test_no_rounds_at_all() -> None:
    with pytest.raises(ParamsError, match=r"x: rounds: missing; add it"):
        parse({}, "x")
    with pytest.raises(ParamsError, match=r"rounds: \{\} is wrong: dictionary should have at least 1 item"):
        parse({"rounds": {}}, "x")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"rounds": {"r2": {"from": "grpo/r3"}}},
            ["rounds.r2.from is 'grpo/r3'", "use warmup, policy, or grpo/NAME of an earlier round"],
        ),
        ({"rounds": {"r2": {"from": "grpo/r2"}}}, ["rounds.r2.from is 'grpo/r2'"]),
        ({"rounds": {"../up": {"from": "warmup"}}}, ["'../up' cannot name a round", "use letters"]),
        ({"rounds": {"": {"from": "warmup"}}}, ["'' cannot name a round"]),
        ({"rounds": {"warmup": {"from": "policy"}}}, ["'warmup' cannot name a round"]),
        ({"grpo": {"micro_batch": 100}}, ["grpo.micro_batch 100 must divide", "= 128", "use 64"]),
        ({"grpo": {"micro_batch": 7, "prompts": 3}, "rollout": {"samples": 2}}, ["= 6", "use 6"]),
        ({"evaluate": {"tasks": 700}}, ["evaluate.tasks 700 is more than synthesize.test 600", "raise the latter"]),
        ({"grpo": {"validation_tasks": 300}}, ["grpo.validation_tasks is more than synthesize.validation", "raise the latter"]),
        ({"rollout": {"tasks": 9000}}, ["rollout.tasks is more than synthesize.train", "raise the latter"]),
        ({"rollout": {"limits": {"total_tokens": 1024}}}, ["rollout.limits.total_tokens leaves no room", "lower it"]),
        ({"reward": {"recipe": "teir"}}, ["reward: unknown recipe 'teir'", "use one of tier, outcome"]),
        ({"reward": {"recipes": {"tier": {}}}}, ["reward: recipe 'tier' has no reward with a weight other than 0"]),
        ({"reward": {"recipes": {"tier": {"tier": 0.0}}}}, ["recipe 'tier' has no reward with a weight other than 0"]),
        ({"policy": {"scratch": {"hidden": 130}}}, ["policy.scratch: hidden 130 must divide by heads 4"]),
        (
            {"policy": {"scratch": {"kv_heads": 3}}},
            ["policy.scratch: hidden 128 must divide by heads 4, and heads by kv_heads 3"],
        ),
        ({"policy": {"source": "hub", "name": "a/b"}}, ["policy: source hub needs policy.revision"]),
        ({"policy": {"source": "hub", "revision": "abc"}}, ["policy: source hub needs a name", "id on the hub"]),
        ({"policy": {"source": "path"}}, ["policy: source path needs a name", "folder"]),
        ({"synthesize": {"depths": {11: 1.0}}}, ["a depth is a number of gold calls from 1 to 10"]),
        ({"synthesize": {"depths": {1: -1.0}}}, ["weights must not be negative"]),
        ({"synthesize": {"depths": dict.fromkeys(range(1, 7), 0.0)}}, ["one at least must be above 0"]),
        ({"synthesize": {"distractors": [4, 1]}}, ["give the fewest, then the most"]),
        ({"synthesize": {"distractors": [-1, 1]}}, ["give the fewest, then the most"]),
    ],
)
def test_what_cannot_go_together_is_refused_with_the_remedy(values: dict[str, Any], words: list[str]) -> None:
    (line,) = refused(values)
    for each in words:
        assert each in line


def test_what_is_just_possible_is_accepted() -> None:
    parse(merge(BASE, {"rounds": {"r2": {"from": "grpo/r1"}, "r3": {"from": "policy"}}}), "x")
    parse(merge(BASE, {"grpo": {"micro_batch": 64}, "evaluate": {"tasks": 600}, "rollout": {"tasks": 8000}}), "x")
    parse(merge(BASE, {"policy": {"source": "path", "name": "p"}, "rollout": {"limits": {"total_tokens": 1 << 20}}}), "x")


def test_every_fault_is_reported_at_once() -> None:
    lines = refused({"seed": "x", "rollout": {"sample": 1}, "grpo": {"steps": -1}})
    assert [line.split(":")[0] for line in lines] == ["seed", "rollout.sample", "grpo.steps"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(Params.model_fields)), json_values, max_size=3))
def test_any_values_are_settings_or_refused(values: dict[str, Any]) -> None:
    try:
        parsed = parse({**BASE, **values}, "x")
    except ParamsError as error:
        assert all(line.startswith("x: ") for line in str(error).splitlines())
    else:
        assert isinstance(parsed, Params)


# -- files and overlays ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"- 1\n- 2\n", "should hold a mapping of sections, holds a"),
        (b"seed: [1, 2\n", "not YAML:"),
        (b"seed: 1\nseed: 2\n", "not YAML:"),
        (b"seed: \xff\xfe\n", "not YAML:"),
        (b"\ttab: 1\n", "not YAML:"),
    ],
)
def test_a_file_that_is_no_mapping_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    with pytest.raises(ParamsError) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"none.yaml: no such file. Run from the project's folder, or name the file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(ParamsError, match=r"cannot be read \(Is a directory\)"):
        read_yaml(tmp_path)


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert read_yaml(written(tmp_path, "empty.yaml", "# nothing\n")) == {}


def test_an_overlay_merges_key_by_key_and_the_message_names_it(workspace: Path) -> None:
    overlay = written(workspace, "o.yaml", "rollout: {limits: {total_tokens: 300}}\nservers: {names: [calendar]}\n")
    params = load(overlay=overlay)
    assert (params.seed, params.rollout.samples, params.rollout.limits.turns) == (3, 8, 6)
    assert params.rollout.limits.total_tokens == 300
    assert params.servers.names == ("calendar",)
    written(workspace, "bad.yaml", "rollout: {samples: 0}\n")
    with pytest.raises(ParamsError, match=r"bad\.yaml: rollout\.samples: 0 is wrong"):
        load(overlay="bad.yaml")


trees = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


@given(mappings, mappings)
def test_merge_takes_the_overlay_everywhere_and_changes_neither(base: dict[str, Any], overlay: dict[str, Any]) -> None:
    before = json.dumps([base, overlay])
    merged = merge(base, overlay)
    assert json.dumps([base, overlay]) == before
    assert merge(merged, overlay) == merged
    assert merge(base, {}) == base
    assert merge({}, overlay) == overlay
    for key in base.keys() | overlay.keys():
        if key not in overlay:
            assert merged[key] == base[key]
        elif not (isinstance(base.get(key), dict) and isinstance(overlay[key], dict)):
            assert merged[key] == overlay[key]


# -- show and use ---------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [{}, {"servers": {"names": ["banking"]}, "synthesize": {"depths": {2: 0.5}}, "seed": 9}])
def test_what_is_shown_is_what_runs(tmp_path: Path, values: dict[str, Any]) -> None:
    params = parse(merge(BASE, values), "x")
    shown = written(tmp_path, "shown.yaml", show(params))
    assert load(shown) == params
    assert "from: warmup" in shown.read_text()


def test_use_keeps_comments_and_order(workspace: Path) -> None:
    overlay = written(workspace, "o.yaml", "seed: 4\nrollout: {samples: 16, tasks: 9}\ngrpo:\n  steps: 5\n")
    use(overlay)
    text = (workspace / "params.yaml").read_text()
    assert load() == load(written(workspace, "same.yaml", merged_by_hand()))
    for kept in ("# What runs.", "# drawn by hand", "# the only one", "# how far to go"):
        assert kept in text
    assert [line.split(":")[0] for line in text.splitlines() if line[0].isalpha()] == ["seed", "rounds", "rollout", "grpo"]
    assert sorted(p.name for p in workspace.iterdir()) == ["o.yaml", "params.yaml", "same.yaml"]


def merged_by_hand() -> str:
    return COMMENTED.replace("seed: 3", "seed: 4").replace("samples: 8", "samples: 16\n  tasks: 9") + "grpo:\n  steps: 5\n"


def test_use_twice_is_use_once(workspace: Path) -> None:
    overlay = written(workspace, "o.yaml", "rollout:\n  samples: 16  # more\n")
    use(overlay)
    once = (workspace / "params.yaml").read_bytes()
    use(overlay)
    assert (workspace / "params.yaml").read_bytes() == once


@pytest.mark.parametrize("text", ["rollout: {sampels: 4}\n", "seed: x\n", "evaluate: {tasks: 100000}\n", "- 1\n", "a: [\n"])
def test_use_refuses_a_bad_overlay_and_touches_nothing(workspace: Path, text: str) -> None:
    overlay = written(workspace, "bad.yaml", text)
    before = (workspace / "params.yaml").stat()
    with pytest.raises(ParamsError, match=r"bad\.yaml"):
        use(overlay)
    after = (workspace / "params.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)
    assert (workspace / "params.yaml").read_text() == COMMENTED
    assert sorted(p.name for p in workspace.iterdir()) == ["bad.yaml", "params.yaml"]


# -- the command ----------------------------------------------------------------------------------


def test_show_prints_every_value_and_the_overlays(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlay = written(workspace, "o.yaml", "seed: 77\n")
    assert main(["show", "--params", str(overlay)]) == 0
    out = capsys.readouterr().out
    assert "seed: 77" in out
    assert all(f"\n{section}:\n" in out for section in Params.model_fields if section != "seed")


def test_use_says_what_to_do_next(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlay = written(workspace, "o.yaml", "seed: 77\n")
    assert main(["use", str(overlay)]) == 0
    assert capsys.readouterr().out == f"params.yaml now holds {overlay}. Run `dvc repro`.\n"
    assert load().seed == 77


@pytest.mark.parametrize("command", [["show", "--params"], ["use"]])
def test_a_bad_overlay_ends_the_process_with_code_2_and_one_line(workspace: Path, command: list[str]) -> None:
    written(workspace, "bad.yaml", "rollout: {sampels: 4}\n")
    ended = subprocess.run(
        [sys.executable, "-m", "tasks.params", *command, "bad.yaml"],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == "bad.yaml: rollout.sampels: unknown key; did you mean rollout.samples?\n"
    assert ended.stdout == ""


def test_settings_import_nothing_heavy() -> None:
    """So that a bad value is refused at once."""
    heavy = {"torch", "transformers", "pyarrow", "mlflow", "numpy", "tasks.servers"}
    code = f"import sys, tasks.params; print(*{heavy} & {{*sys.modules}})"
    ended = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "\n"
