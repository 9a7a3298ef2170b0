"""All experiments by name."""

from __future__ import annotations

from dptransfer.experiments.experiment import Experiment
from dptransfer.experiments.mnist import Mnist
from dptransfer.experiments.mnist_usps import MnistUsps
from dptransfer.experiments.office_caltech import OfficeCaltechPairs
from dptransfer.experiments.usps_mnist import UspsMnist

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, type[Experiment]] = {
    experiment.name: experiment for experiment in (Mnist, MnistUsps, UspsMnist, OfficeCaltechPairs)
}
