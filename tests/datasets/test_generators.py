import numpy as np
import pytest

from shoal.datasets import collection, correlated_gaussian, sim_c, sim_u, skewed
from shoal.errors import OptionError

GENERATORS = {
    "sim_u": lambda seed: sim_u(seed, n=50, d=4),
    "sim_c": lambda seed: sim_c(seed, d=3),
    "correlated_gaussian": lambda seed: correlated_gaussian(50, 4, random_state=seed),
    "skewed": lambda seed: skewed(50, 4, random_state=seed),
}
each = pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)


@each
def test_arrays_are_float64_c_contiguous_and_finite(generate):
    X = generate(1)
    assert X.dtype == np.float64
    assert X.ndim == 2
    assert X.flags.c_contiguous
    assert X.flags.writeable
    assert np.isfinite(X).all()


@each
def test_the_same_seed_gives_the_same_bits(generate):
    assert np.array_equal(generate(7), generate(7))
    assert np.array_equal(generate(np.int64(7)), generate(7))
    assert np.array_equal(generate(np.random.default_rng(7)), generate(7))
    assert not np.array_equal(generate(7)[:20], generate(8)[:20])
    assert not np.array_equal(generate(None)[:20], generate(None)[:20])


@each
def test_a_generator_is_used_up_and_not_reseeded(generate):
    rng = np.random.default_rng(7)
    assert not np.array_equal(generate(rng)[:20], generate(rng)[:20])


@each
def test_the_global_state_of_numpy_is_left_alone(generate):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generate(3)
    generate(None)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_sim_u_is_uniform_on_the_cube():
    X = sim_u(0)
    assert X.shape == (1000, 10)
    assert -10_000 <= X.min() < -9_900
    assert 9_900 < X.max() <= 10_000
    # A uniform variable on an interval of length L has standard deviation L / sqrt(12).
    assert np.allclose(X.std(axis=0), 20_000 / np.sqrt(12), rtol=0.06)
    assert np.abs(np.corrcoef(X.T) - np.eye(10)).max() < 0.15


@pytest.mark.parametrize(("noise", "more"), [("inclusive", 1), ("third", 0)])
@pytest.mark.parametrize("seed", range(5))
def test_sim_c_follows_algorithm_7(seed, noise, more):
    X = sim_c(seed, noise=noise)
    centres = X[:100]
    # Which centre a row belongs to, if any: members are within 50 in every attribute.
    near = np.abs(X[100:, None, :] - centres[None]).max(axis=2) <= 50
    owners = near.argmax(axis=1)
    is_member = near.any(axis=1)
    members = int(is_member.sum())
    # Centres, then members centre by centre, then noise.
    assert is_member[:members].all()
    assert (np.diff(owners[:members]) >= 0).all()
    sizes = np.bincount(owners[:members], minlength=100)
    assert sizes.min() >= 3
    assert sizes.max() <= 20
    assert len(X) == 100 + members + (100 + members) // 3 + more
    assert X.shape[1] == 10
    assert np.abs(X[100 + members :]).max() <= 10_000


def test_sim_c_draws_both_ends_of_the_group_sizes():
    seen = set()
    for seed in range(5):
        X = sim_c(seed)
        near = np.abs(X[100:, None, :] - X[None, :100]).max(axis=2) <= 50
        seen |= set(near.sum(axis=0).tolist())
    assert seen == set(range(3, 21))


def test_the_variants_of_sim_c_differ_by_one_record():
    assert len(sim_c(4)) == len(sim_c(4, noise="third")) + 1


def test_a_printed_size_of_sim_c_is_out_of_reach_of_the_printed_loop():
    # What the docstring says of the sizes 1528 and 1765.
    inclusive = {m + m // 3 + 1 for m in range(400, 2101)}
    third = {m + m // 3 for m in range(400, 2101)}
    assert 1528 not in inclusive
    assert {1528, 1765} <= third
    assert (min(inclusive), max(inclusive)) == (534, 2801)


def test_collection_draws_25_tables_that_do_not_depend_on_their_number():
    tables = collection(sim_u, 0, n=30, d=2)
    assert len(tables) == 25
    assert all(X.shape == (30, 2) for X in tables)
    assert len({X.tobytes() for X in tables}) == 25
    fewer = collection(sim_u, 0, count=3, n=30, d=2)
    assert all(np.array_equal(a, b) for a, b in zip(fewer, tables[:3], strict=True))
    assert len({len(X) for X in collection(sim_c, 0, d=2)}) > 10
    assert len(collection(skewed, 0, count=2, n=5, d=3)) == 2


def test_a_generator_spawns_other_tables_each_time():
    rng = np.random.default_rng(0)
    assert not np.array_equal(collection(sim_u, rng, count=1)[0], collection(sim_u, rng, count=1)[0])


@pytest.mark.parametrize("correlation", [0, 0.0, 0.5, 0.9, 1])
def test_correlated_gaussian_has_the_correlation_asked_for(correlation):
    X = correlated_gaussian(20_000, 4, correlation=correlation, random_state=3)
    expected = np.full((4, 4), float(correlation)) + (1 - correlation) * np.eye(4)
    assert np.allclose(np.corrcoef(X.T), expected, atol=0.03)
    assert np.allclose(X.mean(axis=0), 0, atol=0.04)
    assert np.allclose(X.std(axis=0), 1, atol=0.03)


def test_skewed_is_log_normal_with_median_one():
    X = skewed(50_000, 3, sigma=0.5, correlation=0.6, random_state=5)
    assert (X > 0).all()
    assert np.allclose(np.median(X, axis=0), 1, atol=0.02)
    assert np.allclose(np.log(X).std(axis=0), 0.5, atol=0.01)
    assert np.allclose(np.corrcoef(np.log(X).T)[0, 1:], 0.6, atol=0.03)
    s = 0.5**2
    skewness = ((X - X.mean(axis=0)) ** 3).mean(axis=0) / X.std(axis=0) ** 3
    assert np.allclose(skewness, (np.exp(s) + 2) * np.sqrt(np.exp(s) - 1), rtol=0.15)


def test_the_ends_of_sigma():
    assert (skewed(5, 2, sigma=0, random_state=0) == 1).all()
    assert np.isfinite(skewed(1000, 5, sigma=50, random_state=0)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sim_u(0, n=0), "The 'n' option of sim_u must be an integer of at least 1. Got 0."),
        (lambda: sim_u(0, d=-1), "The 'd' option of sim_u must be an integer of at least 1. Got -1."),
        (lambda: sim_u(0, n=2.5), "The 'n' option of sim_u must be an integer of at least 1. Got 2.5."),
        (lambda: sim_u(0, n=True), "The 'n' option of sim_u must be an integer of at least 1. Got True."),
        (lambda: sim_c(0, d="3"), "The 'd' option of sim_c must be an integer of at least 1. Got '3'."),
        (
            lambda: sim_c(0, d=np.array([1.25])),
            "The 'd' option of sim_c must be an integer of at least 1. Got an object of type ndarray.",
        ),
        (
            lambda: sim_c(0, noise="half"),
            "The 'noise' option of sim_c must be 'inclusive' or 'third'. Got 'half'.",
        ),
        (
            lambda: sim_u(-1),
            "The 'random_state' option of sim_u must be None, an integer of at least 0 or a "
            "numpy.random.Generator. Got -1.",
        ),
        (
            lambda: skewed(3, 3, random_state=np.random.RandomState(0)),
            "The 'random_state' option of skewed must be None, an integer of at least 0 or a "
            "numpy.random.Generator. Got an object of type RandomState.",
        ),
        (
            lambda: correlated_gaussian(3, 3, correlation=-0.1),
            "The 'correlation' option of correlated_gaussian must be a number from 0 to 1. Got -0.1.",
        ),
        (
            lambda: correlated_gaussian(3, 3, correlation=float("nan")),
            "The 'correlation' option of correlated_gaussian must be a number from 0 to 1. Got nan.",
        ),
        (
            lambda: skewed(3, 3, sigma=51),
            "The 'sigma' option of skewed must be a number from 0 to 50. Got 51.",
        ),
        (
            lambda: collection(sim_u, 0, count=0),
            "The 'count' option of collection must be an integer of at least 1. Got 0.",
        ),
    ],
)
def test_wrong_options_are_refused_in_one_shape(call, message):
    with pytest.raises(OptionError) as caught:
        call()
    assert str(caught.value) == message
