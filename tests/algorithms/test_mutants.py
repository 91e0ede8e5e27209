"""Methods with one plausible slip each: the comparison with the reference must catch every one of them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from cases import CASES
from fedco.algorithms import (
    FCSGM,
    AccFCSGM,
    ComFedL,
    FedAvg,
    FedDRO,
    LocalSCGDM,
    MetaFL,
    ModifiedFedAvg,
    is_due,
    share,
)
from fedco.algorithms.fedavg import compositional_gradient
from fedco.algorithms.feddro import FedDROState
from test_reference import STEPS, batched_path, plain_noise
from tiny import TINY, TinyData

MUTANTS = {}


def mutant(label):
    def register(method):
        MUTANTS[method.__name__] = (label, dataclass(frozen=True, eq=False)(method))
        return method

    return register


@mutant("fedavg I")
class KeepsTheOldEmbedding(FedAvg):
    def communicate(self, problem, state, t):
        return replace(state, x=share(state.x)) if is_due(t, self.I) else state


@mutant("fedavg II")
class SharesNoEmbedding(FedAvg):
    def communicate(self, problem, state, t):
        x = share(state.x) if is_due(t, self.I) else state.x
        return replace(state, x=x, y=problem.inner(x))


@mutant("fedavg II")
class SharesTheEmbeddingAlways(FedAvg):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, y=share(problem.inner(state.x))), draws, t)


@mutant("modified_fedavg")
class SharesTheEmbeddingNever(ModifiedFedAvg):
    def local_step(self, problem, state, draws, t):
        return replace(state, x=state.x - self.eta * compositional_gradient(problem, state.x, problem.inner(state.x)))


class _FedDROMutant(FedDRO):
    fresh_sample, beta_scale, share_y, older_is_average, gradient_sign = False, 1.0, True, False, 1.0

    def local_step(self, problem, state, draws, t):
        sample = problem.sample(draws, self.b)
        old_sample = problem.sample(draws, self.b, purpose="other") if self.fresh_sample else sample
        y = state.y
        if t > 0:
            before, now = problem.inner(state.previous, old_sample), problem.inner(state.x, sample)
            y = (1 - self.beta_scale * self.beta) * (state.y - before) + now
            y = share(y) if self.share_y else y
        x = state.x - self.eta * self.gradient_sign * compositional_gradient(problem, state.x, y, sample)
        return FedDROState(x=x, previous=share(state.x) if self.older_is_average else state.x, y=y)


@mutant("feddro")
class TakesAFreshSampleAtTheOldPoint(_FedDROMutant):
    fresh_sample = True


@mutant("feddro")
class DoublesBeta(_FedDROMutant):
    beta_scale = 2.0


@mutant("feddro")
class KeepsItsOwnEmbedding(_FedDROMutant):
    share_y = False


@mutant("feddro")
class AveragesTheOldModel(_FedDROMutant):
    older_is_average = True


@mutant("feddro")
class Ascends(_FedDROMutant):
    gradient_sign = -1.0


@mutant("feddro")
class AveragesOneStepLate(FedDRO):
    def communicate(self, problem, state, t):
        return super().communicate(problem, state, t + 1)


@mutant("local_scgdm")
class SharesOnlyTheModel(LocalSCGDM):
    def communicate(self, problem, state, t):
        return replace(state, x=share(state.x)) if is_due(t, self.p) else state


@mutant("local_scgdm")
class StartsWithMomentum(LocalSCGDM):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, state, draws, t or 1)


@mutant("comfedl")
class UsesOneSampleForBoth(ComFedL):
    def _gradient(self, problem, x, draws):
        sample = problem.sample(draws, self.b, purpose="inner")
        return problem.inner_vjp(x, problem.outer_gradient(problem.inner(x, sample), sample), sample)


@mutant("comfedl, some clients")
class AveragesEveryone(ComFedL):
    def communicate(self, problem, state, t):
        return replace(state, x=share(state.x)) if is_due(t, self.tau) else state


@mutant("comfedl, some clients")
class KeepsTheSameClients(ComFedL):
    def local_step(self, problem, state, draws, t):
        return replace(super().local_step(problem, state, draws, t), active=draws.at(0).subset("clients", self.m))


@mutant("fcsg_m")
class SwapsTheWeights(FCSGM):
    def local_step(self, problem, state, draws, t):
        return FCSGM.local_step(replace(self, beta=1 - self.beta), problem, state, draws, t)


@mutant("fcsg_m")
class SharesNoMomentum(FCSGM):
    def communicate(self, problem, state, t):
        return replace(state, x=share(state.x)) if is_due(t, self.q) else state


@mutant("acc_fcsg_m")
class CorrectsAtTheNewPoint(AccFCSGM):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, previous=state.x), draws, t)


@mutant("meta_fl exact")
class ForgetsTheHessian(MetaFL):
    def meta_gradient(self, problem, w, draws):
        return replace(self, variant="first_order").meta_gradient(problem, w, draws) if self.variant == "exact" else (
            super().meta_gradient(problem, w, draws))


@mutant("meta_fl hessian_free")
class HalvesTheDifference(MetaFL):
    def _hessian_times(self, problem, w, d, batch):
        return super()._hessian_times(problem, w, d, batch) / 2


def distance_to_reference(label, method_class):
    case, numbers = CASES[label], TinyData.random(4, 3)
    models, _ = batched_path(method_class(**case.example), TINY[case.method.kinds[0]](numbers), 9, 1)
    path, _ = case.reference(numbers, plain_noise(9, 0, 3), numbers.origin, None, STEPS, **case.example)
    return np.abs(models[:, 0] - np.array(path)).max()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_is_caught(name):
    label, mutated = MUTANTS[name]
    assert distance_to_reference(label, mutated) > 1e-5


@pytest.mark.parametrize("label", CASES)
def test_the_method_itself_is_not(label):
    assert distance_to_reference(label, CASES[label].method) < 1e-12
