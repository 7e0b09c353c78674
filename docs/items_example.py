"""Twenty networks on 12,000 images: which cells of the table would have been needed?

    python docs/items_example.py            # some minutes
    python docs/items_example.py --images 500

The error rates and the billions of multiplications are those that torchvision publishes of its
networks (ImageNet, one crop; in its documentation and its weights). The cells are made up to
match them: of each network exactly the published share of images is right. Which images are
hard is shared by the networks, and so is how long an image takes. Networks within 1.3 points of
a faster one are left out: no table of this size tells them apart.
"""

from __future__ import annotations

import argparse

import numpy as np

from psips.evaluation.matrix import replay
from psips.evaluation.scores import Scores

NETWORKS = {  # top-1 error in per cent; billions of multiplications
    "AlexNet": (43.45, 0.71),
    "VGG-11": (30.98, 7.61),
    "VGG-13": (30.07, 11.31),
    "VGG-16": (28.41, 15.47),
    "VGG-19": (27.62, 19.63),
    "VGG-11 bn": (29.62, 7.61),
    "VGG-13 bn": (28.45, 11.31),
    "VGG-16 bn": (26.63, 15.47),
    "VGG-19 bn": (25.76, 19.63),
    "ResNet-18": (30.24, 1.81),
    "ResNet-34": (26.70, 3.66),
    "ResNet-50": (23.85, 4.09),
    "SqueezeNet 1.0": (41.90, 0.82),
    "SqueezeNet 1.1": (41.81, 0.35),
    "DenseNet-121": (25.35, 2.83),
    "GoogLeNet": (30.22, 1.50),
    "ShuffleNet V2": (30.64, 0.14),
    "MobileNet V2": (28.12, 0.30),
    "ResNeXt-50": (22.38, 4.23),
    "ResNeXt-101": (20.69, 16.41),
}
SHARED = 0.8  # of the variance of what makes an image hard, before it is right or wrong


def scores(images: int, seed: int = 1) -> Scores:
    """Return a table of networks by images: right or wrong, and the logarithm of the time."""
    rng = np.random.default_rng(seed)
    K = len(NETWORKS)
    hard, size = rng.normal(size=images), rng.normal(size=images)
    own, jitter = rng.normal(size=(K, images)), rng.normal(size=(K, images))
    latent = np.sqrt(SHARED) * hard + np.sqrt(1 - SHARED) * own
    right = np.zeros((K, images))
    for a, (error, _) in enumerate(NETWORKS.values()):
        hardest = np.argsort(latent[a])[: round(error / 100 * images)]
        right[a] = 1.0
        right[a, hardest] = 0.0
    work = np.log([gflops for _, gflops in NETWORKS.values()])
    time = work[:, None] + 0.3 * size + 0.2 * jitter
    values = np.stack([right, time], axis=2)
    names = [f"image {b + 1}" for b in range(images)]
    return Scores(list(NETWORKS), names, ["right", "log time"], values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = scores(options.images, options.seed)
    print(replay(table, {"right": "max", "log time": "min"}, seed=options.seed))


if __name__ == "__main__":
    main()
