"""Models to profile: each function returns a training step of a model."""
import torch
from torch import nn


def trained(model, batch, loss, parameters=None):
    optimizer = torch.optim.AdamW(parameters or model.parameters(), lr=1e-4)

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


def perceptron():
    model = nn.Sequential(nn.Linear(100, 512), nn.Tanh(), nn.Dropout(0.1), nn.Linear(512, 512), nn.SiLU(), nn.BatchNorm1d(512), nn.Linear(512, 3)).cuda()
    batch, target = torch.randn(64, 100, device="cuda"), torch.rand(64, 3, device="cuda")
    return trained(model, batch, lambda y: nn.functional.smooth_l1_loss(y, target))


def transformer():
    model = nn.Transformer(64, 4, 2, 2, 128, dropout=0.0, batch_first=True).cuda()
    source, target = torch.randn(4, 12, 64, device="cuda"), torch.randn(4, 9, 64, device="cuda")
    return trained(lambda x: model(x, target), source, lambda y: (y - target).abs().mean(), model.parameters())


class Translation(nn.Module):
    """A recurrent encoder, and a decoder that attends to its states word by word."""

    def __init__(self, words=500, width=64):
        super().__init__()
        self.words, self.encoder = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True)
        self.cell, self.attention, self.out = nn.GRUCell(width, width), nn.MultiheadAttention(width, 2, batch_first=True), nn.Linear(width, words)

    def forward(self, x):
        states, last = self.encoder(self.words(x))
        state, said = last[0], []
        for i in range(x.shape[1]):
            seen, _ = self.attention(state[:, None], states, states)
            state = self.cell(self.words(x[:, i]), seen[:, 0])
            said.append(self.out(state))
        return torch.stack(said, 1)


def translation():
    text = torch.randint(500, (8, 10), device="cuda")
    return trained(Translation().cuda(), text, lambda y: nn.functional.cross_entropy(y.flatten(0, 1), text.flatten()))


MODELS = {model.__name__: model for model in (convolutions, recurrent, attention, perceptron, transformer, translation)}


def warmed(name):
    """The step of a model, after three of it."""
    torch.manual_seed(0)
    step = MODELS[name]()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    return step
