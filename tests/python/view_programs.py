"""Programs that mix views with in-place operations, for the tests of functionalization.

Each takes a 4x4 and a 4-vector and may change them.
"""

import torch
import torch.nn.functional as F


def flat_view_then_add(x, y):
    z = x * 1
    z.view(-1).add_(1)
    return z * 2


def column_copy(x, y):
    z = x.clone()
    z[:, 0].copy_(y)
    return z.sin()


def transposed_in_place(x, y):
    z = x.clone()
    z.t_().mul_(2)
    return z * z


def chunks_change_each_other(x, y):
    z = x.clone()
    a, b = z.chunk(2, 1)
    a.add_(b)
    b.mul_(a)
    return z + 1


def nested_slices(x, y):
    z = x.clone()
    v = z[1:, 1:3]
    v.zero_()
    w = v.unsqueeze(0)
    w += 3
    return z * x


def diagonal_fill(x, y):
    z = x.clone()
    z.diagonal().fill_(0.5)
    return z.exp()


def assignments(x, y):
    z = torch.zeros_like(x)
    z[:, 1] = y
    z[0] += x[0]
    return z * z


def masked_fill_and_row(x, y):
    z = x.clone()
    z.masked_fill_(x > 0, 0.0)
    z.transpose(0, 1)[0].mul_(y[0])
    return z


def view_of_four_dimensions(x, y):
    z = x.clone()
    w = z.view(2, 2, 4)
    w[0].relu_()
    z.add_(1)
    return w.sum(0) * z.view(2, 2, 4)[1]


def out_argument(x, y):
    z = x.clone()
    out = torch.empty_like(x)
    torch.mul(z, z, out=out)
    return out + 1


def squeezes_in_place(x, y):
    z = x.clone()
    z.squeeze_().unsqueeze_(0).squeeze_(0).add_(y[:, None])
    return z


def unbound_rows(x, y):
    z = x.clone()
    u = z.unbind(0)
    u[1].mul_(3)
    u[2].copy_(u[0])
    return z


def split_and_cat(x, y):
    z = x.clone()
    s = z.split([1, 3], 1)
    s[1].sigmoid_()
    return torch.cat(s, 1) * z


def detached(x, y):
    z = x.detach().clone()
    z.add_(1)
    return z * x


def strided_negation(x, y):
    z = x * 2
    z.view(-1)[::2].neg_()
    return z * x


def index_put(x, y):
    z = x.clone()
    z.index_put_((torch.tensor([0, 1]),), y[:2, None].expand(2, 4).contiguous(), accumulate=True)
    return z.tanh()


def as_strided_window(x, y):
    z = x.clone()
    z.as_strided((2, 2), (4, 1)).mul_(2)
    return z


def in_place_relu(x, y):
    z = F.dropout(x, 0.0, True)
    z = F.relu(z, inplace=True)
    z[..., -1].add_(y)
    return z


def input_through_view(x, y):
    x.view(-1).add_(1)
    return x * 2


def input_through_transpose(x, y):
    x.t()[0].copy_(y)
    return x.sum() + y.sum()


def input_metadata(x, y):
    x.transpose_(0, 1)
    return x * 2


def input_data_and_metadata(x, y):
    x.mul_(2)
    x.t_()
    x[0].add_(y)
    return x + 1


def swapped_inputs(x, y):
    t = y.clone()
    y.copy_(x[0])
    x[0].copy_(t)
    return x.sum(0) - y


def input_returned(x, y):
    x.add_(1)
    return x, y, x


def input_views_returned(x, y):
    x.add_(1)
    return x.t(), x[1:, ::2], y.view(2, 2), y


def shared_intermediate(x, y):
    z = x * 2
    return z[0], z, z.t()[1:]


def shared_hidden(x, y):
    z = x * 2
    a, b = z.chunk(2)
    a.add_(y)
    return a, b, b


def written_reads_other(x, y):
    y.add_(1)
    x.copy_(y.expand(4, 4).t())
    y.mul_(2)
    return None, 3, "s", x[0] * y


def nothing_but_an_input(x, y):
    return x


PROGRAMS = [
    value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__
]
