"""Methods with one plausible slip each: the comparison with the reference must catch every one of them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from cases import CASES
from fedco.algorithms import (
    DRFA,
    FCSGM,
    GCIVR,
    MARINA,
    SCGD,
    AccFCSGM,
    ComFedL,
    CompressedSGD,
    DelayedSGD,
    ErrorFeedback,
    FedAdam,
    FedAvg,
    FedDRO,
    FedGLOMO,
    FedNova,
    FedProx,
    GossipSGD,
    LocalBSGD,
    LocalHeavyBall,
    LocalMOML,
    LocalSCGD,
    LocalSCGDM,
    LocalSGD,
    LocalSGDA,
    LocalSTORM,
    MetaFL,
    MinibatchSGD,
    ModifiedFedAvg,
    PerFedAvg,
    QFedAvg,
    Scaffold,
    TwoSidedSGD,
    average,
    is_due,
)
from fedco.algorithms.baselines.drfa import drawn, onto_simplex
from fedco.algorithms.engine.compressors import sparsified
from fedco.algorithms.methods.fedavg import compositional_gradient
from fedco.algorithms.methods.feddro import FedDROState
from test_reference import STEPS, batched_path, plain_noise
from tiny import TINY, TinyData

SEEDS = 8  # a slip in what is drawn shows up only when the draw comes out otherwise
MUTANTS = {}


def mutant(label):
    def register(method):
        MUTANTS[method.__name__] = (label, dataclass(frozen=True, eq=False)(method))
        return method

    return register


@mutant("fedavg I")
class KeepsTheOldEmbedding(FedAvg):
    def communicate(self, problem, state, t):
        return replace(state, x=average(state.x)) if is_due(t, self.I) else state


@mutant("fedavg II")
class SharesNoEmbedding(FedAvg):
    def communicate(self, problem, state, t):
        x = average(state.x) if is_due(t, self.I) else state.x
        return replace(state, x=x, y=problem.inner(x))


@mutant("fedavg II")
class SharesTheEmbeddingAlways(FedAvg):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, y=average(problem.inner(state.x))), draws, t)


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
            y = average(y) if self.share_y else y
        x = state.x - self.eta * self.gradient_sign * compositional_gradient(problem, state.x, y, sample)
        return FedDROState(x=x, previous=average(state.x) if self.older_is_average else state.x, y=y)


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
        return replace(state, x=average(state.x)) if is_due(t, self.p) else state


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
        return replace(state, x=average(state.x)) if is_due(t, self.tau) else state


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
        return replace(state, x=average(state.x)) if is_due(t, self.q) else state


@mutant("acc_fcsg_m")
class CorrectsAtTheNewPoint(AccFCSGM):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, previous=state.x), draws, t)


@mutant("meta_fl exact")
class ForgetsTheHessian(MetaFL):
    def meta_gradient(self, problem, w, draws):
        return (
            replace(self, variant="first_order").meta_gradient(problem, w, draws)
            if self.variant == "exact"
            else (super().meta_gradient(problem, w, draws))
        )


@mutant("meta_fl hessian_free")
class HalvesTheDifference(MetaFL):
    def _hessian_times(self, problem, w, d, batch):
        return super()._hessian_times(problem, w, d, batch) / 2


@mutant("meta_fl, a batch size per step")
class TakesTheBatchSizesBackwards(MetaFL):
    def local_step(self, problem, state, draws, t):
        return MetaFL.local_step(MetaFL(**{**vars(self), "D_H": self.D_H[::-1]}), problem, state, draws, t)


@mutant("local_sgd")
class AveragesInnerValuesToo(LocalSGD):
    def local_step(self, problem, state, draws, t):
        other = ComFedL(eta=self.eta, tau=self.tau, b=self.b, b_1=self.b, m=self.m)
        return other.local_step(problem, state, draws, t)


@mutant("local_sgd")
class NeverDrawsClientsAgain(LocalSGD):
    def local_step(self, problem, state, draws, t):
        return replace(super().local_step(problem, state, draws, t), active=draws.at(0).subset("clients", self.m))


@mutant("local_sgd, declining")
class StepsOneStepLate(LocalSGD):
    def local_step(self, problem, state, draws, t):
        return LocalSGD.local_step(replace(self, eta=self.eta.at(t + 1)), problem, state, draws, t)


@mutant("local_sgd, declining")
class DeclinesInEveryStep(LocalSGD):
    def local_step(self, problem, state, draws, t):
        return LocalSGD.local_step(replace(self, eta=replace(self.eta, every=1)), problem, state, draws, t)


@mutant("minibatch_sgd")
class KeepsTheInnerValueLocal(MinibatchSGD):
    def general(self, kind):
        return LocalSGD(eta=self.eta, tau=1, b=self.b)


@mutant("minibatch_sgd conditional")
class SwapsTheBatchSizes(MinibatchSGD):
    def general(self, kind):
        return LocalBSGD(eta=self.eta, tau=1, m=self.b + 1, b=self.m).general(kind)


@mutant("local_bsgd")
class SwapsInnerAndOuterBatch(LocalBSGD):
    def general(self, kind):
        return ComFedL(eta=self.eta, tau=self.tau, b=self.b, b_1=self.m)


@mutant("local_scgd")
class TakesTheOldInnerValue(LocalSCGD):
    def local_step(self, problem, state, draws, t):
        return LocalSCGD.local_step(replace(self, inner_value="old"), problem, state, draws, t)


@mutant("local_scgd")
class TakesOneSample(LocalSCGD):
    def local_step(self, problem, state, draws, t):
        return LocalSCGD.local_step(replace(self, outer_sample="same"), problem, state, draws, t)


@mutant("local_scgd, equation (2)")
class TakesTheNewInnerValue(LocalSCGD):
    def local_step(self, problem, state, draws, t):
        return LocalSCGD.local_step(replace(self, inner_value="new"), problem, state, draws, t)


@mutant("local_scgd")
class KeepsItsOwnInnerValue(LocalSCGD):
    def communicate(self, problem, state, t):
        return replace(state, x=average(state.x)) if is_due(t, self.p) else state


@mutant("scgd")
class CommunicatesEverySecondStep(SCGD):
    def general(self, kind):
        return replace(super().general(kind), p=2)


@mutant("gcivr")
class DoesNotRestart(GCIVR):
    def local_step(self, problem, state, draws, t):
        return GCIVR.local_step(replace(self, tau=1000), problem, state, draws, t)


@mutant("gcivr")
class TakesTheOldJacobian(GCIVR):
    def local_step(self, problem, state, draws, t):
        new = super().local_step(problem, state, draws, t)
        return replace(new, z=state.z) if t % self.tau else new


@mutant("gcivr, exact epochs")
class CorrectsNothing(GCIVR):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, previous=state.x), draws, t)


@mutant("per_fedavg")
class TakesTheFineTuningOfTheProblem(PerFedAvg):
    def general(self, kind):
        return replace(super().general(kind), nu=None)


@mutant("local_moml")
class KeepsTheMemory(LocalMOML):
    def local_step(self, problem, state, draws, t):
        return LocalMOML.local_step(replace(self, memory="keep"), problem, state, draws, t)


@mutant("local_moml")
class StartsTheMemoryWithASmallBatch(LocalMOML):
    def local_step(self, problem, state, draws, t):
        return LocalMOML.local_step(replace(self, b_0=None), problem, state, draws, t)


@mutant("local_moml, kept memory")
class SwapsTheWeightsOfTheMemory(LocalMOML):
    def local_step(self, problem, state, draws, t):
        return LocalMOML.local_step(replace(self, beta=1 - self.beta), problem, state, draws, t)


@mutant("local_moml, kept memory")
class SharesTheMemory(LocalMOML):
    def communicate(self, problem, state, t):
        return replace(state, x=average(state.x), u=average(state.u)) if is_due(t, self.tau) else state


@mutant("drfa")
class DrawsClientsUniformly(DRFA):
    def local_step(self, problem, state, draws, t):
        level = torch.full_like(state.weights, 1 / problem.clients)
        return super().local_step(problem, replace(state, weights=level), draws, t)


@mutant("drfa")
class RaisesAtTheEndOfTheRound(DRFA):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, snapshot=state.x), draws, t)


@mutant("drfa")
class ForgetsTau(DRFA):
    def _raised(self, problem, state, draws):
        return DRFA._raised(replace(self, gamma=self.gamma / self.tau), problem, state, draws)


@mutant("drfa meta")
class CountsAClientOnce(DRFA):
    def local_step(self, problem, state, draws, t):
        state = super().local_step(problem, state, draws, t)
        return replace(state, active=state.active.clamp(max=1.0))


@mutant("q_fedavg")
class LosesTheCurvatureTerm(QFedAvg):
    def communicate(self, problem, state, t):
        return (
            replace(state, x=average(state.x, state.active), origin=average(state.x, state.active))
            if (is_due(t, self.tau))
            else state
        )


@mutant("q_fedavg meta")
class RaisesToQPlusOne(QFedAvg):
    def communicate(self, problem, state, t):
        return QFedAvg.communicate(replace(self, q=self.q + 1), problem, state, t)


@mutant("scaffold")
class AddsTheControl(Scaffold):
    def local_step(self, problem, state, draws, t):
        swapped = replace(state, control=state.shared_control, shared_control=state.control)
        new = super().local_step(problem, swapped, draws, t)
        return replace(new, control=state.control, shared_control=state.shared_control)


@mutant("scaffold")
class UpdatesEveryControl(Scaffold):
    def communicate(self, problem, state, t):
        control = super().communicate(problem, replace(state, active=None), t).control
        return replace(super().communicate(problem, state, t), control=control)


@mutant("scaffold")
class AveragesTheControlsOfTheRound(Scaffold):
    def communicate(self, problem, state, t):
        new = super().communicate(problem, state, t)
        return replace(new, shared_control=average(new.control, state.active)) if is_due(t, self.tau) else new


@mutant("scaffold")
class KeepsTheOldGradients(Scaffold):
    def _gathered(self, problem, state, gradient, draws, t):
        return state.gathered + gradient


@mutant("scaffold, option I")
class TakesTheSampleOfTheStep(Scaffold):
    def _gathered(self, problem, state, gradient, draws, t):
        return state.gathered if t % self.tau else self.tau * gradient


@mutant("scaffold")
class ForgetsTheServersStep(Scaffold):
    def communicate(self, problem, state, t):
        return Scaffold.communicate(replace(self, eta_g=1.0), problem, state, t)


@mutant("fedprox")
class PullsToTheStart(FedProx):
    def communicate(self, problem, state, t):
        return replace(super().communicate(problem, state, t), origin=state.origin)


@mutant("fedprox")
class HalvesTheProximalTerm(FedProx):
    def local_step(self, problem, state, draws, t):
        return FedProx.local_step(replace(self, mu=self.mu / 2), problem, state, draws, t)


@mutant("two_sided_sgd")
class ForgetsTheServersVelocity(TwoSidedSGD):
    def communicate(self, problem, state, t):
        return super().communicate(problem, replace(state, velocity=0 * state.velocity), t)


@mutant("two_sided_sgd")
class PutsTheServersStepIntoTheMomentum(TwoSidedSGD):
    def communicate(self, problem, state, t):
        new = super().communicate(problem, state, t)
        return replace(new, velocity=self.eta_g * new.velocity) if is_due(t, self.tau) else new


@mutant("local_heavy_ball")
class KeepsTheMomenta(LocalHeavyBall):
    def communicate(self, problem, state, t):
        return replace(super().communicate(problem, state, t), velocity=state.velocity)


@mutant("local_heavy_ball")
class AveragesTheMomentaOfAll(LocalHeavyBall):
    def communicate(self, problem, state, t):
        new = super().communicate(problem, state, t)
        return replace(new, velocity=average(state.velocity)) if is_due(t, self.tau) else new


@mutant("local_heavy_ball, kept")
class WeighsTheNewGradient(LocalHeavyBall):
    def local_step(self, problem, state, draws, t):
        new = super().local_step(problem, state, draws, t)
        return replace(new, velocity=new.velocity * (1 - self.beta))


@mutant("fednova")
class StepsToTheEnd(FedNova):
    def local_step(self, problem, state, draws, t):
        return FedNova.local_step(replace(self, steps=None), problem, state, draws, t)


@mutant("fednova")
class DividesByTheLengthOfTheRound(FedNova):
    def communicate(self, problem, state, t):
        return FedNova.communicate(replace(self, eta=self.eta, weights=(self.steps / self.tau / problem.clients,) * problem.clients),
                                   problem, state, t)  # fmt: skip


@mutant("delayed_sgd")
class DelaysOneStepLess(DelayedSGD):
    def local_step(self, problem, state, draws, t):
        return super().local_step(
            problem, replace(state, past=torch.cat((state.x[:, :, None], state.past), 2)), draws, t
        )


@mutant("delayed_sgd, random")
class DelaysAllAlike(DelayedSGD):
    def local_step(self, problem, state, draws, t):
        return DelayedSGD.local_step(replace(self, delays="fixed"), problem, state, draws, t)


@mutant("gossip_sgd")
class MixesBeforeTheStep(GossipSGD):
    def local_step(self, problem, state, draws, t):
        gradient = self.eta * problem.local_gradient(state.x, problem.sample(draws, self.b))
        return replace(state, x=super().communicate(problem, state, t).x - gradient)

    def communicate(self, problem, state, t):
        return state


@mutant("compressed_sgd")
class DoesNotEnlarge(CompressedSGD):
    def local_step(self, problem, state, draws, t):
        return CompressedSGD.local_step(replace(self, eta=self.eta / self.ratio), problem, state, draws, t)


@mutant("error_feedback")
class ForgetsWhatItDidNotSend(ErrorFeedback):
    def local_step(self, problem, state, draws, t):
        return super().local_step(problem, replace(state, error=0 * state.error), draws, t)


@mutant("error_feedback")
class SharesTheMemories(ErrorFeedback):
    def communicate(self, problem, state, t):
        return replace(super().communicate(problem, state, t), error=average(state.error))


@mutant("marina")
class TossesACoinAtEachClient(MARINA):
    def local_step(self, problem, state, draws, t):
        new = super().local_step(problem, state, draws, t)
        each = draws.uniform("coin", 1)
        sample = problem.sample(draws, self.b)
        now, before = (problem.local_gradient(x, sample) for x in (state.x, state.previous))
        g = average(torch.where(each < self.p, now, state.g + sparsified(now - before, draws, self.ratio)))
        return replace(new, x=state.x - self.eta * g, g=g) if t > 0 else new


@mutant("marina")
class CompressesTheGradient(MARINA):
    def local_step(self, problem, state, draws, t):
        return super().local_step(
            problem, replace(state, g=0 * state.g, previous=0 * state.previous) if t else state, draws, t
        )


@mutant("local_storm")
class CorrectsOnAnotherSample(LocalSTORM):
    def local_step(self, problem, state, draws, t):
        new = super().local_step(problem, state, draws, t)
        if t == 0:
            return new
        at_old = [
            problem.local_gradient(state.previous, problem.sample(draws, self.b, purpose=p))
            for p in ("sample", "other")
        ]
        d = new.d + (1 - self.a) * (at_old[0] - at_old[1])
        return replace(new, x=state.x - self.eta * d, d=d)


@mutant("local_storm")
class SharesNoEstimate(LocalSTORM):
    def communicate(self, problem, state, t):
        return replace(super().communicate(problem, state, t), d=state.d)


@mutant("local_storm")
class StartsWithASmallBatch(LocalSTORM):
    def local_step(self, problem, state, draws, t):
        return LocalSTORM.local_step(replace(self, B=None), problem, state, draws, t)


@mutant("fedadam")
class SwapsTheWeightsOfTheMoments(FedAdam):
    def communicate(self, problem, state, t):
        return FedAdam.communicate(replace(self, beta_1=self.beta_2, beta_2=self.beta_1), problem, state, t)


@mutant("fedadam")
class StartsTheSecondMomentAtZero(FedAdam):
    def init(self, problem, start, draws):
        state = super().init(problem, start, draws)
        return replace(state, second=0 * state.second)


@mutant("fedadam, yogi")
class IsAdam(FedAdam):
    def communicate(self, problem, state, t):
        return FedAdam.communicate(replace(self, variant="adam"), problem, state, t)


@mutant("fedglomo")
class RunsTheTwinFromTheSameModel(FedGLOMO):
    def communicate(self, problem, state, t):
        new = super().communicate(problem, state, t)
        return replace(new, twin=new.x, older=new.origin) if is_due(t, self.tau) else new


@mutant("fedglomo")
class ForgetsTheLocalMomentum(FedGLOMO):
    def local_step(self, problem, state, draws, t):
        return FedGLOMO.local_step(replace(self, a=1.0), problem, state, draws, t)


@mutant("local_sgda")
class AscendsAtTheNewModel(LocalSGDA):
    def local_step(self, problem, state, draws, t):
        new = super().local_step(problem, state, draws, t)
        up = problem.ascent_gradient(new.x, state.y, problem.sample(draws, self.b))
        return replace(new, y=problem.projected(state.y + self.eta_y * up))


@mutant("local_sgda")
class KeepsItsOwnDual(LocalSGDA):
    def communicate(self, problem, state, t):
        return replace(super().communicate(problem, state, t), y=state.y)


@mutant("local_sgda")
class LeavesTheSet(LocalSGDA):
    def local_step(self, problem, state, draws, t):
        new = super().local_step(problem, state, draws, t)
        return replace(
            new, y=state.y + self.eta_y * problem.ascent_gradient(state.x, state.y, problem.sample(draws, self.b))
        )


def distance_to_reference(label, method_class):
    case, numbers = CASES[label], TinyData.random(4, 3)
    models, _ = batched_path(method_class(**case.example), TINY[case.problem_kind](numbers), 9, SEEDS)
    paths = [
        case.reference(numbers, plain_noise(9, seed, 3), numbers.origin, None, STEPS, **case.example)[0]
        for seed in range(SEEDS)
    ]
    return np.abs(models.swapaxes(0, 1) - np.array(paths)).max()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_is_caught(name):
    label, mutated = MUTANTS[name]
    assert distance_to_reference(label, mutated) > 1e-5


@pytest.mark.parametrize("label", CASES)
def test_the_method_itself_is_not(label):
    assert distance_to_reference(label, CASES[label].method) < 1e-12


def test_the_projection_minimises_the_distance():
    """p is the projection of v on a convex set iff (v - p).(w - p) <= 0 for every extreme point w of it."""
    v = torch.randn(200, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 2
    p = onto_simplex(v)
    assert (p >= 0).all() and ((p == 0).any(-1) & (p > 0).any(-1)).sum() > 50, "both kinds of entries must occur"
    torch.testing.assert_close(p.sum(-1), torch.ones(200, dtype=torch.float64))
    assert ((v - p).unsqueeze(1) * (torch.eye(5, dtype=torch.float64) - p.unsqueeze(1))).sum(-1).max() < 1e-12


def test_clients_are_drawn_in_proportion_to_their_weights():
    weights = torch.tensor([[0.5, 0.0, 0.25, 0.25]], dtype=torch.float64)
    grid = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000  # the law of the map: a fine grid of uniforms
    assert drawn(weights, grid[None]).tolist() == [[2000.0, 0.0, 1000.0, 1000.0]]
