"""What a client sends, counted by hand for every method."""

from dataclasses import fields
from fractions import Fraction
from types import SimpleNamespace

import pytest
from fedco.algorithms import METHODS

SENT = [  # method, hyperparameters, and of 11 steps with 5 clients: rounds, numbers of models (dim 3), of inner values (dim 2)
    ("fedavg", dict(I=3), (3, 9, 0)),
    ("fedavg", dict(I=3, case="II"), (3, 9, 6)),
    ("modified_fedavg", dict(I=3), (3, 9, 22)),
    ("feddro", dict(I=3, beta=0.5), (3, 9, 20)),
    ("feddro", dict(I=3, beta=0.5, first_update="update"), (3, 9, 22)),
    ("gcivr", dict(tau=4), (11, 33, 22)),
    ("local_scgdm", dict(p=3, alpha=1.0, beta=1.0, gamma=1.0), (3, 18, 6)),
    ("local_scgd", dict(p=3, gamma=0.5), (3, 9, 6)),
    ("scgd", dict(gamma=0.5), (11, 33, 22)),
    ("comfedl", dict(tau=3, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("comfedl", dict(tau=3), (3, 9, 0)),
    ("local_bsgd", dict(tau=3), (3, 9, 0)),
    ("fcsg", dict(q=3, m=1), (3, 9, 0)),
    ("fcsg_m", dict(q=3, m=1, beta=0.5), (3, 18, 0)),
    ("acc_fcsg_m", dict(q=3, m=1, beta=0.5), (3, 18, 0)),
    ("meta_fl", dict(tau=3, m=4), (3, 9 * Fraction(4, 5), 0)),
    ("per_fedavg", dict(tau=3), (3, 9, 0)),
    ("local_moml", dict(tau=3, beta=0.5, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("local_sgd", dict(tau=3, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("minibatch_sgd", dict(), (11, 33, 22)),  # of a shared composite; of any other kind no inner values
    ("fedprox", dict(tau=3, mu=0.1, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("scaffold", dict(tau=3, m=2), (3, 18 * Fraction(2, 5), 0)),
    ("q_fedavg", dict(tau=3, q=1.0, m=2), (3, 9 * Fraction(2, 5), 3 * Fraction(2, 5))),
    ("drfa", dict(tau=3, gamma=0.1, m=2), (3, 18 * Fraction(2, 5), 3 * Fraction(2, 5))),
    ("two_sided_sgd", dict(tau=3, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("local_heavy_ball", dict(tau=3, beta=0.5, m=2), (3, 18 * Fraction(2, 5), 0)),
    ("local_heavy_ball", dict(tau=3, beta=0.5, momentum="keep"), (3, 9, 0)),
    ("fednova", dict(tau=3, steps=[1, 2, 3, 3, 3]), (3, 9, 0)),
    ("delayed_sgd", dict(D=2), (11, 33, 0)),
    ("gossip_sgd", dict(tau=3), (3, 2 * 9, 0)),
    ("gossip_sgd", dict(tau=3, topology="complete"), (3, 4 * 9, 0)),
    ("compressed_sgd", dict(ratio=4), (11, Fraction(33, 4), 0)),
    ("error_feedback", dict(share=0.5), (11, 22, 0)),
    ("error_feedback", dict(share=1), (11, 33, 0)),
    ("marina", dict(p=0.5, ratio=4), (11, 3 + 30 * Fraction(5, 8), 0)),
    ("local_storm", dict(tau=3, a=0.5), (3, 18, 0)),
    ("local_sgda", dict(tau=3, eta_y=0.1, m=2), (3, 9 * Fraction(2, 5), 6 * Fraction(2, 5))),
    ("fed_ttsa", dict(eta_y=0.1, eta_v=0.1, K=4), (66, 33, 110)),
    ("fedadam", dict(tau=3, eta_g=0.1, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("fedglomo", dict(tau=3, beta=0.5, m=2), (3, 18 * Fraction(2, 5), 0)),
]


@pytest.mark.parametrize(("name", "settings", "wanted"), SENT)
def test_what_a_client_sends_in_eleven_steps(name, settings, wanted):
    method = METHODS[name]
    step = next(field.name for field in fields(method) if field.name in ("eta", "alpha", "beta"))
    made = method(**{step: 0.1, **settings}) if step not in settings else method(**{"eta": 0.1, **settings})
    sent = made.messages(SimpleNamespace(kind=made.kinds[0], clients=5, dim=3, inner_dim=2), 11)
    assert (sent.rounds, sent.model_floats, sent.embedding_floats) == wanted
    assert {each for each, *_ in SENT} == set(METHODS)


def test_mini_batches_of_a_plain_loss_need_no_inner_values():
    sent = METHODS["minibatch_sgd"](eta=0.1).messages(
        SimpleNamespace(kind="federated", clients=5, dim=3, inner_dim=2), 11
    )
    assert (sent.rounds, sent.model_floats, sent.embedding_floats) == (11, 33, 0)
