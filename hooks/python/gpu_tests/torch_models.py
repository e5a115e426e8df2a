"""Models to profile: each function returns a training step of a model."""
import torch
from torch import nn


def trained(model, batch, loss):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        loss(model(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.conv2(torch.relu(self.norm(self.conv1(x)))))


def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 32, 7, stride=2), *[Residual(32) for _ in range(3)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
    target = torch.randint(10, (16,), device="cuda")
    return trained(model, torch.randn(16, 3, 64, 64, device="cuda"), lambda y: nn.functional.cross_entropy(y, target))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cells, self.out = nn.Embedding(1000, 64), nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 1000)

    def forward(self, x):
        return self.out(self.cells(self.words(x))[0])


def recurrent():
    text = torch.randint(1000, (8, 33), device="cuda")
    return trained(Recurrent().cuda(), text[:, :-1], lambda y: nn.functional.cross_entropy(y.flatten(0, 1), text[:, 1:].flatten()))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm, self.qkv, self.out = heads, nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.narrow(nn.functional.gelu(self.wide(x)))


def attention():
    model = nn.Sequential(*[Attention(256, 4) for _ in range(3)]).cuda()
    batch = torch.randn(4, 64, 256, device="cuda")

    def loss(y):
        return (y - batch).square().mean()
    step = trained(model, batch, loss)

    def mixed():
        with torch.autocast("cuda", torch.bfloat16):
            step()
    return mixed


MODELS = {model.__name__: model for model in (convolutions, recurrent, attention)}
