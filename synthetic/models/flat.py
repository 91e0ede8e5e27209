"""An nn.Module and a loss as functions of one flat float64 vector, over many lanes (run, client) at once.

The module is used as it is, by functional call: its parameters become slices of the vector, in the order of
`named_parameters`; parameters that want no gradient, and buffers, stay what they are. Whatever its own float type, it
computes in float64 here. Batched by vmap: a lane's last bits may depend on how many lanes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from ...errors import InputError
from ...user_files import FAILURES, one_line
from .data import as_double

Loss = Callable[[Tensor, Tensor], Tensor]
_OF_TORCH: tuple[Any, ...] = (
    functional.cross_entropy,
    functional.mse_loss,
    functional.l1_loss,
    functional.nll_loss,
    functional.smooth_l1_loss,
    functional.huber_loss,
    functional.binary_cross_entropy_with_logits,
)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
MOST_NUMBERS = 1 << 24
"""Numbers in the activations and gradients of lanes that are evaluated together: 128 MiB."""


@dataclass(frozen=True, eq=False)
class FlatModel:
    """The model and its loss.

    Args:
        model: any nn.Module without batch statistics and without randomness.
        loss: (outputs, targets) of a batch of one -> scalar; the loss of a batch is the mean over its examples.

    Raises:
        InputError: a module that keeps batch statistics, or one without parameters.
    """

    model: nn.Module
    loss: Loss

    def __post_init__(self) -> None:
        for name, part in self.model.named_modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm) and (part.training or part.running_mean is None):
                raise InputError(
                    f"{name}: wanted a model whose loss is a mean over examples; call .eval() or use GroupNorm"
                )
            if isinstance(part, nn.modules.dropout._DropoutNd) and part.training and part.p > 0:
                raise InputError(f"{name}: wanted a model without randomness; call .eval(), or take the dropout out")
        if not self._slices:
            raise InputError(f"{type(self.model).__name__}: has no parameter that wants a gradient")
        _ = self._fixed  # now: made under vmap or grad first, the tensors would belong to it

    @cached_property
    def _slices(self) -> tuple[tuple[str, torch.Size, int], ...]:
        return tuple((name, p.shape, p.numel()) for name, p in self.model.named_parameters() if p.requires_grad)

    @cached_property
    def _fixed(self) -> dict[str, Tensor]:
        fixed = {name: p for name, p in self.model.named_parameters() if not p.requires_grad}
        return {name: as_double(value) for name, value in (fixed | dict(self.model.named_buffers())).items()}

    @cached_property
    def _broadcasts(self) -> bool:
        """Whether outputs of a batch are compared with targets of another shape number by number, all with all."""
        classes = (nn.CrossEntropyLoss, nn.NLLLoss)
        return not isinstance(self.loss, classes) and self.loss not in (functional.cross_entropy, functional.nll_loss)

    @cached_property
    def at_once(self) -> Loss | None:
        """The losses of a batch in one call, where torch's own function has them: half the time of one by one."""
        function: Any = self.loss
        unweighted = getattr(function, "weight", None) is None
        if isinstance(function, nn.modules.loss._Loss) and function.reduction == "mean" and unweighted:
            unreduced = copy(function)
            unreduced.reduction = "none"
            return unreduced if type(function).__module__ == nn.modules.loss.__name__ and is_plain(function) else None
        return partial(function, reduction="none") if function in _OF_TORCH else None

    @property
    def dim(self) -> int:
        """How many parameters there are."""
        return sum(count for *_, count in self._slices)

    @cached_property
    def start(self) -> Tensor:
        """The parameters that the module has, `(dim,)`."""
        values = dict(self.model.named_parameters())
        return torch.cat([values[name].detach().to(torch.float64).flatten() for name, *_ in self._slices])

    def trained(self, x: Tensor) -> nn.Module:
        """A copy of the module with the parameters x `(dim,)`, in the module's own float type."""
        made = deepcopy(self.model)
        parameters = dict(made.named_parameters())
        with torch.no_grad():
            for (name, shape, _), part in zip(self._slices, self._split(x), strict=True):
                parameters[name].copy_(part.view(shape))
        return made

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.split([count for *_, count in self._slices])

    def outputs(self, x: Tensor, inputs: Tensor) -> Tensor:
        """The module at parameters x `(dim,)` on a batch of inputs."""
        parts = zip(self._slices, self._split(x), strict=True)
        parameters = {name: part.view(shape) for (name, shape, _), part in parts}
        return functional_call(self.model, {**self._fixed, **parameters}, (inputs,))

    def examples(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of every example, `(batch,)`."""
        return self.losses(self.outputs(x, inputs), targets)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of every output of the module, `(batch,)`."""
        if self.at_once is not None and not (self._broadcasts and outputs.shape != targets.shape):
            return self.at_once(outputs, targets).view(len(outputs), -1).mean(-1)
        return vmap(lambda o, y: self.loss(o.unsqueeze(0), y.unsqueeze(0)))(outputs, targets)

    def check(self, inputs: Tensor, targets: Tensor | None) -> None:
        """Try the module on a batch of one example, and its loss where there are targets.

        Raises:
            InputError: the module fails, is random or changes its buffers; or the loss fails or gives no number.
        """
        before = {name: value.clone() for name, value in self._fixed.items()}
        given = f"a batch of one example of shape {tuple(inputs.shape[1:])}"
        with torch.no_grad():
            try:
                outputs, again = self.outputs(self.start, inputs), self.outputs(self.start, inputs)
            except FAILURES as error:
                raise InputError(f"model: wanted one that takes {given}, got {one_line(error)}") from error
            if changed := [name for name, value in self._fixed.items() if not same(value, before[name])]:
                raise InputError(
                    f"{changed[0]}: wanted a model whose loss is a mean over examples, got a buffer that it changes when it is called; "
                    "call .eval(), or take that layer out"
                )
            if not isinstance(outputs, Tensor) or outputs.shape[:1] != inputs.shape[:1]:
                found = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
                raise InputError(f"model: wanted a tensor (batch, ...) of {given}, got {found}")
            if not same(outputs, again):
                raise InputError("model: wanted one without randomness, got two answers for one example; call .eval()")
            if targets is None:
                return
            about = f"outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)} of {targets.dtype}"
            try:
                value = self.loss(outputs, targets)
            except FAILURES as error:
                raise InputError(f"loss: wanted one that takes {about}, got {one_line(error)}") from error
            if not isinstance(value, Tensor) or value.dim() > 0 or not value.is_floating_point():
                got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
                raise InputError(f"loss: wanted a scalar for {about}, got {got}")

    # --- over lanes: x `(runs, clients, dim)`, data `(runs or 1, clients, batch, ...)` --------------------------------

    def lanes(self, function: Callable[..., Any], *points: Tensor, data: tuple[Tensor, ...], axis: int = 1) -> Any:
        """`function(*points, *data)` of one lane, over all lanes; in parts where a whole would not fit the memory."""
        runs = max(points[0].shape[0], data[0].shape[0])
        spread = [value.expand(runs, *value.shape[1:]).flatten(0, axis) for value in (*points, *data)]
        size = sum(value[0].numel() for value in spread) * 4
        chunk = max(1, MOST_NUMBERS // max(size, 1))
        found = vmap(function, chunk_size=chunk if chunk < len(spread[0]) else None)(*spread)
        shape = (runs, *points[0].shape[1 : axis + 1])
        if isinstance(found, tuple):
            return tuple(part.view(*shape, *part.shape[1:]) for part in found)
        return found.view(*shape, *found.shape[1:])

    def mean_loss(self, x: Tensor, inputs: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Of one lane: sum of weights times losses."""
        return (weights * self.examples(x, inputs, targets)).sum()

    def value(self, x: Tensor, data: tuple[Tensor, ...]) -> Tensor:
        """`(runs, clients)`."""
        return self.lanes(self.mean_loss, x, data=data)

    def gradient(self, x: Tensor, data: tuple[Tensor, ...]) -> Tensor:
        """`(runs, clients, dim)`."""
        return self.lanes(grad(self.mean_loss), x, data=data)

    def hvp(self, x: Tensor, v: Tensor, data: tuple[Tensor, ...]) -> Tensor:
        """Hessian times v, `(runs, clients, dim)`."""
        return self.lanes(pulled(grad(self.mean_loss)), x, v, data=data)

    def scores(self, x: Tensor, inputs: Tensor) -> Tensor:
        """Outputs `(runs, clients, batch, outputs)` at x `(runs, clients, dim)`."""
        found = self.lanes(self.outputs, x, data=(inputs,))
        return found.unsqueeze(-1) if found.dim() == 3 else found


def pulled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """(x, v, *rest) -> the transposed Jacobian of `function(x, *rest)` times v; of a gradient, the Hessian times v."""

    def product(at: Tensor, along: Tensor, *rest: Tensor) -> Tensor:
        slope: Tensor = grad(lambda p: (function(p, *rest) * along).sum())(at)
        return slope

    return product


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are equal, NaN where the other is."""
    return one.shape == other.shape and bool(((one == other) | (one != one) & (other != other)).all())


def as_loss(given: Any) -> Loss:
    """A loss from what a user calls one: a function, a module, the class of a module, or the name of a function of torch.

    Raises:
        InputError: none of these.
    """
    names = {function.__name__: function for function in _OF_TORCH}
    if isinstance(given, str) and given in names:
        return names[given]
    loss = given() if isinstance(given, type) and issubclass(given, nn.Module) else given
    if isinstance(loss, (str, type)) or not callable(loss):
        got = repr(loss)[:40] if isinstance(loss, str) else type(loss).__name__
        raise InputError(
            f"loss: wanted a function (outputs, targets) -> scalar, a module, or one of {' '.join(names)}, got {got}"
        )
    return loss


def is_plain(module: nn.Module) -> bool:
    """Whether calling a module runs what its class says and nothing else: no hook, and no attribute in the place of the class's."""
    common = nn.modules.module
    hooked = any(getattr(module, name, None) or getattr(common, f"_global{name}") for name in _HOOKS)
    return not hooked and not any(hasattr(type(module), name) for name in vars(module))
