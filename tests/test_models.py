"""The example models: they train on real data, and step by step as hand-written JAX does."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks import models
from benchmarks.workloads import device_arrays
from tracejit import Generator, Tensor, jit, nn
from tracejit.passes.casts import implicit_casts

pytest.importorskip("sklearn")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    nn.set_seed(0)


def example(name: str) -> Any:
    return importlib.import_module(name)


def small_transformer() -> models.Pair:
    """Make a transformer of two small layers, and the hand-written step from the same weights."""
    import jax.numpy as jnp

    from benchmarks.jax_models import adamax_step, transformer_loss

    transformer = example("transformer")
    size = transformer.Size(width=32, heads=2, layers=2, window=16)
    net = transformer.Transformer(size).set_train()
    trained, _ = models._weights(net)
    step = transformer.make_step(net, nn.AdaMax(net.trainable_params(), 1e-2, eps=1e-4))
    text = transformer.read_text(8 * 17).reshape(8, 17)
    loss = functools.partial(transformer_loss, layers=2, heads=2)
    state = (trained, models._zeros(trained), models._zeros(trained), jnp.float32(1.0), jnp.float32(1e-2))
    return models.Pair(step, [text], adamax_step(loss, 0.9, 0.999, 1e-4), state)


MAKERS = {
    "mlp": lambda: models.make("mlp"),
    "convnet": lambda: models.make("convnet"),
    "transformer": small_transformer,
}


@pytest.mark.parametrize("name", MAKERS)
def test_losses_are_those_of_hand_written_jax(name: str):
    pair = MAKERS[name]()
    *state, rate = pair.state
    arrays = device_arrays(pair.batch)
    for _ in range(6):
        ours = pair.step(*map(Tensor, pair.batch)).item()
        *state, theirs = pair.theirs(*state, rate, *arrays)
        assert ours == pytest.approx(float(theirs), rel=1e-4)


@pytest.mark.parametrize("name", MAKERS)
def test_compiled_steps_are_as_large_as_hand_written_ones(name: str):
    pair = MAKERS[name]()
    ours = pair.step.trace(*map(Tensor, pair.batch)).lower().compile().as_text()
    theirs = pair.theirs.lower(*pair.state, *device_arrays(pair.batch)).compile().as_text()
    counts = [len(models._INSTRUCTION.findall(text)) for text in (ours, theirs)]
    assert abs(counts[0] / counts[1] - 1) <= 0.02, counts


def test_the_mlp_learns(capsys: pytest.CaptureFixture[str]):
    mlp = example("mlp")
    pixels, test_pixels, labels, test_labels = mlp.load()
    net = mlp.MLP().set_train()
    step = mlp.make_step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    losses = mlp.train(step, pixels, labels, epochs=8)
    assert len(losses) == 8 * (len(pixels) // mlp.BATCH) and losses[-1] < 0.1 * losses[0]
    assert mlp.accuracy(net, test_pixels, test_labels) > 0.9
    assert step.cache_info().traces == 1
    assert "step" in capsys.readouterr().err  # the progress bar


def test_the_mlps_casts_and_gradients():
    mlp = example("mlp")
    net = mlp.MLP()
    step = mlp.make_step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    promoted = step.trace(Tensor(np.zeros((4, 64), "f4")), Tensor(np.zeros(4, "i4"))).promoted
    casts = [(c.operation, str(c.from_), c.to.name) for c in implicit_casts(promoted)]
    assert ("matmul", "f16[256,64]", "float32") in casts and ("add", "f16[256]", "float32") in casts
    (gradients,) = [operation for operation in promoted.operations if operation.name == "value_and_grad"]
    assert [str(type_) for type_ in gradients.result_types[1:3]] == ["f16[256,64]", "f16[256]"]


def test_the_convnet_learns_and_keeps_statistics():
    mlp, convnet = example("mlp"), example("convnet")
    pixels, test_pixels, labels, test_labels = mlp.load()
    net = convnet.ConvNet().set_train()
    step = mlp.make_step(net, nn.Momentum(net.trainable_params(), 0.05, 0.9))
    losses = mlp.train(step, convnet.as_images(pixels), labels, epochs=2)
    assert losses[-1] < 0.5 * losses[0]
    assert net.features[1].moving_mean.asnumpy().any() and net.training
    assert mlp.accuracy(net, convnet.as_images(test_pixels), test_labels) > 0.8
    assert not net.training


def test_the_transformer_learns_and_writes():
    transformer = example("transformer")
    size = transformer.Size(width=32, heads=2, layers=1, window=16)
    net = transformer.Transformer(size).set_train()
    step = transformer.make_step(net, nn.AdaMax(net.trainable_params(), 1e-2, eps=1e-4))
    text = transformer.read_text(20_000)
    losses = transformer.train(step, text, size.window, steps=60, batch=8)
    assert np.mean(losses[-10:]) < 0.8 * losses[0] and step.cache_info().traces == 1
    written = [transformer.write(net, "def ", 20, seed=seed) for seed in (1, 1, 2)]
    assert written[0] == written[1] != written[2]
    assert all(text.startswith("def ") and len(text) == 24 for text in written)


def test_the_full_transformer_has_a_million_weights():
    transformer = example("transformer")
    net = transformer.Transformer(transformer.Size())
    assert 0.9e6 < sum(p.size for p in net.trainable_params()) < 1.1e6
    assert {p.dtype for p in net.get_parameters()} == {tracejit.float16, tracejit.float32}


def test_the_text_is_the_standard_librarys():
    transformer = example("transformer")
    text = "".join(transformer.CHARACTERS[i] for i in transformer.read_text(50_000))
    assert len(text) == 50_000 and "import" in text and "def " in text


def test_a_generator_inside_a_compiled_loop_goes_on():
    generator = Generator(3)
    draw = jit(lambda: tracejit.scan(lambda c, _: (c, tracejit.ops.standard_normal((2,), generator)), 0.0, None, 3)[1])
    first, second = draw().asnumpy(), draw().asnumpy()
    assert len({*first.ravel().tolist(), *second.ravel().tolist()}) == 12


def test_plots(tmp_path: Path):
    plots = example("plots")
    assert plots.sparkline([3.0, 2.0, 1.0]) == "█▅▁" and plots.sparkline([1.0, 1.0]) == "▁▁"
    assert len(plots.sparkline(list(range(1000)), width=20)) == 20
    pytest.importorskip("matplotlib")
    plots.save_curve([3.0, 2.0, 1.0], tmp_path / "loss.svg", "title")
    assert (tmp_path / "loss.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["mlp", "convnet"])
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--epochs", "1"])
    example(name).main()
    out = capsys.readouterr().out
    assert "value_and_grad" in out and "test accuracy" in out


def test_every_dense_optimizer_fits_the_digits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    pytest.importorskip("matplotlib")
    optimizers = example("optimizers")
    wanted = {op.class_name for op in tracejit.ops.RECORDS.values() if op.class_name.startswith("Apply")}
    assert set(optimizers.RULES) == wanted and len(wanted) == 10
    mlp = example("mlp")
    pixels, _, labels, _ = mlp.load()
    batch = Tensor(pixels[: mlp.BATCH] / 16), Tensor(labels[: mlp.BATCH])
    for rule in optimizers.RULES.values():
        net = nn.Dense(64, mlp.CLASSES)
        step = mlp.make_step(net, optimizers.ByRule(net.trainable_params(), rule))
        losses = [step(*batch).item() for _ in range(20)]
        assert losses[-1] < 0.95 * losses[0]
    monkeypatch.setattr(optimizers, "RULES", {"ApplyMomentum": optimizers.RULES["ApplyMomentum"]})
    monkeypatch.setattr(sys, "argv", ["optimizers.py", "--epochs", "2", "--plot", str(tmp_path / "curves.svg")])
    optimizers.main()
    assert "ApplyMomentum" in capsys.readouterr().out
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")


def test_the_embedding_learns_as_hand_written_jax_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import jax.numpy as jnp

    embedding = example("embedding")
    data, table = embedding.batches(3, 4096), embedding.first_table(4096)
    model, zeros = embedding.Recommender(table), jnp.zeros(table.shape, jnp.float32)
    state = (jnp.array(table), zeros, jnp.copy(zeros), jnp.float32(1), jnp.float32(1))
    for ids, liked in data:
        assert len(np.unique(ids)) < 0.8 * ids.size
        ours = model.step(Tensor(ids), Tensor(liked)).item()
        state, theirs = embedding.jax_step(state, *device_arrays([ids, liked]))
        assert ours == pytest.approx(float(theirs), rel=1e-4)
    np.testing.assert_allclose(model.table.asnumpy(), state[0], rtol=1e-3, atol=1e-5)

    monkeypatch.setattr(sys, "argv", ["embedding.py", "--steps", "200", "--items", "4096"])
    monkeypatch.setattr(embedding, "compare_speed", functools.partial(embedding.compare_speed, rounds=2))
    embedding.main()
    out, err = capsys.readouterr()
    first, *_, last = [float(word) for word in out.partition("loss ")[2].split("\n")[0].split() if word[0].isdigit()]
    assert last < 0.8 * first and "ratio" in out and "step/s" in err
