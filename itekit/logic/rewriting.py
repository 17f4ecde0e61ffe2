"""Formulas rewritten without a change of meaning: derived operators, and the order of operands."""

from itekit.logic.formulas import TRUE, Formula, until

_CORE = {
    "|": lambda f, g: ~(~f & ~g),
    ">": lambda f, g: ~(f & ~g),
    "=": lambda f, g: ~(f & ~g) & ~(~f & g),
    "^": lambda f, g: ~(f & g) & ~(~f & ~g),
    "F": lambda f: until(TRUE, f),
    "G": lambda f: ~until(TRUE, ~f),
    "R": lambda f, g: ~until(~f, ~g),
    "W": lambda f, g: ~until(~g, ~f & ~g),
    "M": lambda f, g: until(g, f & g),
}

COMMUTATIVE = frozenset("&|=^")
ASSOCIATIVE = frozenset("&|")


def to_core(formula: Formula) -> Formula:
    """The same meaning in true, false, AP, not, and, next, until (paper, equation "ltl").

    Raises:
        ValueError: the result is too deep or too large; an equivalence or an exclusive or repeats
            both of its operands.
    """
    stack: list[Formula] = []
    for node in reversed(list(formula.nodes())):
        operands = [stack.pop() for _ in node.operands]
        rewrite = _CORE.get(node.operator)
        stack.append(rewrite(*operands) if rewrite else _with(node, operands))
    return stack.pop()


def sorted_operands(formula: Formula) -> Formula:
    """One form for all formulas that differ in the order of commutative operands only.

    The operands of `&`, `|`, `=` and `^` are sorted; nested `&` and nested `|` are first laid flat,
    so that `&a&bc` and `&&cba` get one form too. Nothing else changes: `&aa` is not `a`.
    """
    stack: list[Formula] = []
    for node in reversed(list(formula.nodes())):
        operands = [stack.pop() for _ in node.operands]
        if node.operator in ASSOCIATIVE:
            operands = [part for operand in operands for part in _parts(operand, node.operator)]
        if node.operator in COMMUTATIVE:
            operands.sort(key=Formula.tokens)
            stack.append(_balanced(node.operator, operands))
        else:
            stack.append(_with(node, operands))
    return stack.pop()


def _with(node: Formula, operands: list[Formula]) -> Formula:
    return Formula(node.operator, tuple(operands)) if operands else node


def _parts(formula: Formula, operator: str) -> list[Formula]:
    """The operands of a formula whose nested `operator`s are laid flat, from left to right."""
    found, stack = [], [formula]
    while stack:
        part = stack.pop()
        if part.operator == operator:
            stack.extend(part.operands[::-1])
        else:
            found.append(part)
    return found


def _balanced(operator: str, operands: list[Formula]) -> Formula:
    """The operands joined by a binary operator, in order, by as shallow a tree as can be."""
    while len(operands) > 1:
        pairs = zip(operands[::2], operands[1::2], strict=False)
        odd = operands[len(operands) // 2 * 2 :]
        operands = [Formula(operator, pair) for pair in pairs] + odd
    return operands[0]
