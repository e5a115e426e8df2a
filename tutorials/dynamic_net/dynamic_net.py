"""A small network whose computation changes at every step with a random number.

    proton run -c shadow -n dynamic_net.shadow dynamic_net.py     by scope
    proton run -c python -n dynamic_net.python dynamic_net.py     by Python call path

It learns sin(x) as a polynomial whose highest terms come and go. Each step is some dozens of kernels of a few
microseconds: the processor, not the GPU, sets the pace, which is the case where a profiler costs most.
"""

import math
import random

import torch

import goproton as proton

STEPS = 200


class DynamicNet(torch.nn.Module):
    """y = a + b x + c x² + d x³, plus x⁴ and x⁵ terms at random steps."""

    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(0.1 * torch.randn(())) for _ in range(6))

    def forward(self, x):
        with proton.scope("cubic"):
            y = self.cubic(x)
        highest = random.choice((3, 4, 5))
        if highest > 3:
            with proton.scope("extra terms"):
                y = y + self.extra(x, highest)
        return y

    def cubic(self, x):
        a, b, c, d = list(self.weights)[:4]
        return a + b * x + c * x**2 + d * x**3

    def extra(self, x, power):
        """The terms from x⁴ up to x^power, one call of this function each."""
        term = self.weights[power] * x**power
        return term if power == 4 else term + self.extra(x, power - 1)


def train(model, x, y):
    update = torch.optim.SGD(model.parameters(), lr=1e-8, momentum=0.9, foreach=False)
    for _ in range(STEPS):
        with proton.scope("forward"):
            loss = (model(x) - y).square().sum()
        # Autograd launches from a separate thread, which copies the scopes of the main thread at its first
        # launch: "backward", since that launch is here.
        with proton.scope("backward"):
            loss.backward()
        with proton.scope("update"):
            update.step()
            update.zero_grad()
    return loss.item()


def main():
    random.seed(1)
    torch.manual_seed(1)
    x = torch.linspace(-math.pi, math.pi, 2000, device="cuda")
    loss = train(DynamicNet().cuda(), x, torch.sin(x))
    print(f"loss after {STEPS} steps: {loss:.3f}")


if __name__ == "__main__":
    main()
