"""Lesson 16: a panel, measurements, tables and exercises on the symbol-invariant transformer."""

import time

import plotly.graph_objects as go
import torch
from scipy.stats import binomtest

from itekit.alpha import Renaming, used_tokens
from itekit.data import problems
from itekit.datasets.sets import read_set
from itekit.decoding import Solver, copy_strings
from itekit.evaluation import GridEvaluation, judge, propositions
from itekit.experiments import experiment
from itekit.logic.infix import formula_from_text
from itekit.names import NAMES as EXPERIMENTS
from itekit.names import NAMES_AXIS
from itekit.network import Network
from itekit.plots import rates_with_intervals, show, style
from itekit.plots.lines import METHODS
from itekit.plots.show import look
from itekit.random_vectors import seeded
from itekit.results import load_network, results, shipped
from itekit.vocabulary import ltl_vocabulary
from lessons.exercises import Exercise, many, random_formula
from lessons.panels import Panel, typed
from lessons.tables import html_table

NAMES = "abcdef"
SYMBOLS = (1, 2, 4, 8, 12)  # in the formulas of `costs`
_AXIS = {  # method: its network for 6 names, and the end of the names of those for more
    "proposed": ("smallest-set", ""),
    "alpha-renaming": ("alpha-renaming", "-alpha-renaming"),
    "symbol-invariant": ("converted", None),
}
LTL_NAMES = {  # method: number of names: experiment
    method: {6: six} | {n: f"names-{n}{end}" for n in (20, 60, 200) if end is not None}
    for method, (six, end) in _AXIS.items()
}


class ViewPanel(Panel):
    """A formula, a renaming of it, and the views of its streams beside their names."""

    def __init__(self, view):
        self.view = view
        self.text, self.order = typed("a U (b & X c)", "formula"), typed("cab", "a, b, c are")
        super().__init__([self.text, self.order])
        self.watch(self.text, self.order)

    def work(self) -> str:
        formula, order = "".join(formula_from_text(self.text.value).tokens()), self.order.value
        used = used_tokens(formula, NAMES)
        if len(set(order)) < len(order) or not set(used) <= set(NAMES[: len(order)]):
            raise ValueError(f"expected a new name for each of {', '.join(used)}, all different")
        renaming = Renaming(dict(zip(NAMES, order, strict=False)))
        rows = [("<b>view</b>", f"<b>in {formula}</b>", f"<b>in {renaming(formula)}</b>")]
        for name in used:
            view, after = (self.view(r(formula), r(name), NAMES) for r in (Renaming({}), renaming))
            assert view == after
            rows.append((f"<code>{view}</code>", f"stream of {name}", f"of {renaming(name)}"))
        return html_table(rows)


def network(name: str, size: str, seed: int) -> Network:
    """The shipped lab network; at smoke size an untrained one."""
    if size == "smoke":
        return Network(experiment(name, size, seed)).eval()
    return load_network(name, "lab", seed)


@torch.no_grad()
def largest_difference(network: Network, formula: str, renaming: dict[str, str]) -> float:
    """Between the scores of the first token and those of the renamed formula, renamed back."""
    vocabulary, rename = network.experiment.vocabulary, Renaming(renaming)
    U, scores = network.matrix(vocabulary, seeded(0)), []
    for text in (formula, rename(formula)):
        batch = problems(network.experiment, [(text, "1")], vocabulary).batch(
            torch.arange(1).numpy()
        )
        scores.append(network.logits(U, batch)[0, 0])
    moved = [vocabulary.tokens.index(renaming.get(token, token)) for token in vocabulary.tokens]
    finite = scores[0].isfinite()
    return (scores[0] - scores[1][moved])[finite].abs().max().item()


def _balanced(leaves: str) -> str:
    middle = len(leaves) // 2
    return leaves if not middle else "&" + _balanced(leaves[:middle]) + _balanced(leaves[middle:])


@torch.no_grad()
def costs(size: str, seed: int, copies: int = 16, tries: int = 15) -> dict[str, list[float]]:
    """Milliseconds of one core to read 16 formulas of 23 tokens with each of SYMBOLS."""
    vocabulary, found, threads = ltl_vocabulary(12), {}, torch.get_num_threads()
    torch.set_num_threads(1)
    for name in ("symbol-invariant", "proposed"):
        model = network(f"ltl/{name}", size, seed)
        U, found[name] = model.matrix(vocabulary, seeded(seed)), []
        for symbols in SYMBOLS:
            leaves = "".join("abcdefghijkl"[i % symbols] for i in range(12))
            source = torch.tensor([vocabulary.encode(_balanced(leaves))] * copies)
            spent = []
            for _ in range(tries):
                start = time.process_time()
                model.model.encode(U, source)
                spent.append(time.process_time() - start)
            found[name].append(1000 * min(spent))
    torch.set_num_threads(threads)
    return found


def cost_figure(costs: dict[str, list[float]]) -> None:
    """What `costs` measured, as lines."""
    figure = go.Figure()
    for name, times in costs.items():
        colour, symbol, _ = look(METHODS.index(name))
        marker = {"color": colour, "symbol": symbol, "size": 9}
        figure.add_scatter(x=SYMBOLS, y=times, name=name, marker=marker, line={"width": 2.5})
    figure.update_xaxes(title_text="symbols in each formula", tickvals=SYMBOLS)
    figure.update_yaxes(title_text="milliseconds of one core", rangemode="tozero")
    title = "The price of a stream for each symbol"
    alt = "Milliseconds to read 16 formulas: proposed is flat, symbol-invariant a rising line."
    show(style(figure, title=title, width=760, height=360, showlegend=True), alt=alt)


def spent(one: dict) -> tuple[int, float]:
    """Problems and seconds of a run's training, that of the weights that it began with included."""
    made, trained = one["experiment"], one["trained"]
    start = shipped(made["start"], seed=one["seed"]) if made.get("start") else None
    before = spent(start) if start else (0, 0.0)
    problems = trained["steps"] * made["training"]["batch_size"]
    return before[0] + problems, before[1] + trained["seconds"]


def _cells(one: dict) -> str:
    grid = one["result"]["generalization"]
    known = experiment("ltl/proposed", "lab").propositions  # of training, in both logics
    test, n = one["result"]["test"]["correct"], one["result"]["test"]["samples"]
    more = [sum(map(sum, grid[k][known:])) for k in ("correct", "samples")]
    rates = [(test, n), (more[0] / more[1], more[1])]
    cells = [f"{p:6.1%} ±{1.96 * (p * (1 - p) / n) ** 0.5:4.1%}" for p, n in rates]
    rows = (one["result"]["alpha_covariance"] or {"by_propositions": {}})["by_propositions"]
    same = f"{sum(row['mean'] for row in rows.values()) / len(rows):.3f}" if rows else "–"
    return f"{spent(one)[0]:>9,}   {cells[0]}   {cells[1]}   {same}"


def _table(family: str, names: tuple[str, ...]) -> None:
    width = max(24, *map(len, names))
    print(f"{'':{width}} {'problems':>9}   test split       more APs       alpha-covariance")
    for name in names:
        found = results(f"{family}/{name}", "lab")
        for one in found:
            told = f"   again, seed {one['seed']}" if one["seed"] else name
            print(f"{told:{width}} {_cells(one)}")
        if not found:
            print(f"{name:{width}} not run yet")


def ltl_table(*names: str) -> None:
    """A line for each LTL training that has a result; ± is half of a 95 % interval."""
    _table("ltl", names)


def prop_table(*names: str) -> None:
    """The same of propositional logic."""
    _table("prop", names)


def right_by_symbols(networks: dict[str, Network], size: str) -> None:
    """A line for each network: right answers of the test split by number of symbols, draw 0."""
    pairs = read_set("ltl35", size)["test"][: {"smoke": 20}.get(size, 2000)]
    counts, told = propositions(pairs, NAMES), f"{'':28}" + "all".rjust(9)
    print(told + "".join(f"{n} symbol{'s' * (n > 1)}".rjust(12) for n in (1, 2, 3)))
    for name, one in networks.items():
        answers = Solver(one, 0).answers([formula for formula, _ in pairs])
        good = judge(one.experiment.check, pairs, answers).good
        rates = "".join(f"{good[counts == n].mean():12.1%}" for n in (1, 2, 3))
        print(f"{name:28}{good.mean():9.1%}{rates}")


def copying_table(unique: int, length: int) -> None:
    """Exact copies, learned numbers, and the steps that used a learned row, for each run."""
    print(f"names    {'':20}{'exact copies':24}{'learned numbers':>15}{'uses of a row':>16}")
    for count in NAMES_AXIS:
        for method in ("proposed", "larger-set", *METHODS[1:]):
            name = f"copying-names-{count}/{method}"
            for one in results(name, "lab") if name in EXPERIMENTS else ():
                axis, result, made = one["result"]["axis"], one["result"], experiment(name, "lab")
                k = result["exact"][axis.index(unique)][axis.index(length)]
                n = result["copies_per_cell"]
                low, high = binomtest(k, n).proportion_ci(method="wilson")
                rows, used = Network(made).embedding.parameters(), one["trained"]["steps"]
                if method in ("alpha-renaming", "full-vocabulary"):  # a row for each name
                    data, size = made.data, made.training.batch_size
                    drawn = size * (data.minimum + data.maximum) / 2  # characters of a batch
                    share = 1 - (1 - 1 / data.characters) ** drawn  # of the data's characters
                    used *= share * data.characters / count
                told = f"   again, seed {one['seed']}" if one["seed"] else method
                print(f"{count:5,}    {told:20}{k / n:6.1%} ({low:.1%} to {high:.1%}) "
                      f"{sum(row.numel() for row in rows):15,}{used:16,.0f}")  # fmt: skip


@torch.no_grad()
def confusions(network: Network, unique: int, length: int) -> None:
    """In how many places the random parts of a wrong character and of the right one differ."""
    grid, d = GridEvaluation(network, progress=False), network.experiment.embedding.d_beta
    known, wrong, pairs, read = grid.vocabulary.learned_count, [], [], 0
    for draw in range(grid.draws):
        U = grid.matrix(draw)
        corners = (U[known:, -d:] > 0).int()
        pairs += torch.pdist(corners.float(), p=1).int().tolist()
        for batch in grid.batches(length, [unique]):
            right, found = batch.target[:, :length], copy_strings(network, U, batch)[:, :length]
            swapped = (found != right) & (found >= known)
            one, other = (corners[tokens[swapped] - known] for tokens in (found, right))
            wrong += (one != other).sum(1).tolist()
            read += ((found[..., None] == right[:, None]).any(-1) & swapped).sum().item()
    print(f"{len(wrong)} wrong characters, {read} of them stand elsewhere in the string")
    print(f"of {d} places    wrong characters    pairs of names")
    for places in range(1, d + 1):
        print(f"{places:11} {wrong.count(places):19} {pairs.count(places) / len(pairs):17.1%}")


def ltl_names() -> dict[str, dict[int, tuple[int, int]]]:
    """Correct answers of how many problems of the grid, by method and number of names."""
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for method, runs in LTL_NAMES.items():
        for count, name in runs.items():
            if one := shipped(f"ltl/{name}"):
                grid = one["result"]["generalization"]
                rate = tuple(sum(map(sum, grid[key])) for key in ("correct", "samples"))
                found.setdefault(method, {})[count] = rate
    for count in found.get("proposed", {}):  # one network, whose answers do not depend on it
        found["symbol-invariant"][count] = found["symbol-invariant"][6]
    return found


def names_figure(counts: dict[str, dict[int, tuple[int, int]]], title: str) -> None:
    """Rates against the number of names."""
    words = "names that the network is ready for"
    figure = rates_with_intervals(counts, title=title, x=words, log=True)
    figure.update_yaxes(range=[0.6, 0.9], dtick=0.1)
    spoken = "; ".join(
        f"{name} " + ", ".join(f"{k / n:.0%} at {x:,}" for x, (k, n) in points.items())
        for name, points in counts.items()
    )
    show(figure, alt=f"{title}: {spoken}.")


def mistakes(count: int = 8) -> None:
    """The shortest problems of the test split that the symbol-invariant network gets wrong."""
    found = shipped("ltl/symbol-invariant")
    rows = found["result"]["mistakes"] if found else []
    for row in sorted(rows, key=lambda row: len(row["formula"]))[:count]:
        print(f"{row['formula']:22} label {row['label']:20} answer {row['answer']:.28}")


def _views(formula):
    return [
        "".join("●" if t == name else "○" if t in NAMES else t for t in formula)
        for name in used_tokens(formula, NAMES)
    ]


def _some_formula(rng):
    return (random_formula(rng, rng.randint(1, 7)),)


check_views = Exercise("views", _views, many(40, _some_formula))
check_views.mistakes = {
    lambda formula: sorted(_views(formula)): "the views are right, and sorted: asked is the order "
    "in which the formula names its symbols.",
    lambda formula: [
        "".join("●" if t == name else t for t in formula) for name in used_tokens(formula, NAMES)
    ]: "the other symbols still have their names: a stream reads each of them as ○.",
}


def _scores(streams):
    fixed = [token for token in next(iter(streams.values())) if token != "●"]
    mean = {t: sum(scores[t] for scores in streams.values()) / len(streams) for t in fixed}
    return mean | {symbol: scores["●"] for symbol, scores in streams.items()}


def _some_streams(rng):
    def some():
        return {token: rng.randint(-9, 9) / 10 for token in (";", "!", "●")}

    return ({symbol: some() for symbol in rng.sample("abc", rng.randint(1, 3))},)


check_scores = Exercise("scores", _scores, many(40, _some_streams))
check_scores.mistakes = {
    lambda streams: (
        _scores(streams) | {t: sum(s[t] for s in streams.values()) for t in (";", "!")}
    ): "the fixed tokens have the sum of the streams' scores. Asked is the mean.",
    lambda streams: (
        _scores(streams)
        | dict.fromkeys(streams, sum(s["●"] for s in streams.values()) / len(streams))
    ): "a symbol has the score of its own stream, not the mean.",
}


def _same_up_to_names(first, second):
    return sorted(_views(first)) == sorted(_views(second))


def _two_formulas(rng):
    first = random_formula(rng, rng.randint(3, 6))
    names = dict(zip("abc", rng.sample("abc", 3), strict=True))
    second = "".join(names.get(token, token) for token in first)
    if rng.random() < 0.5:
        place = rng.randrange(len(second))
        if second[place] in "abc":
            second = second[:place] + rng.choice("abc") + second[place + 1 :]
    return first, second


PAIRS = [("&ab", "&aa"), ("&ab", "Uab"), ("&ab", "&ba"), ("&aX&b!c", "&aX&b!b")]
check_same_up_to_names = Exercise(
    "same_up_to_names", _same_up_to_names, many(60, _two_formulas, *PAIRS)
)
check_same_up_to_names.mistakes = {
    lambda f, g: _views(f)[:1] == _views(g)[:1]: "one stream does not see which of the others are "
    "the same: compare all views.",
    lambda f, g: len(_views(f)) == len(_views(g)): "as many symbols is not enough.",
    lambda f, g: f == g: "that asks for the same formula. Renamed ones count too.",
}
