# SPDX-License-Identifier: Apache-2.0
"""Where samples, tokens and channels lie; and that what is not known is not guessed."""

import sys
import unittest

import job

sys.path.insert(0, str(job.PACKAGE))
from nanhunt import activations, mesh, names, placement  # noqa: E402


class Positions(unittest.TestCase):
    def positions(self, order):
        found = []
        for rank in range(2):
            for part in range(2):
                samples = placement.Samples(2, 2, rank, 2, part, order)
                found += [samples.position(local) for local in range(2)]
        return found

    def test_every_order_covers_the_global_batch_once(self):
        for order in placement.ORDERS:
            self.assertEqual(sorted(self.positions(order)), list(range(8)), order)

    def test_orders_differ(self):
        self.assertEqual(self.positions("interleaved"), [0, 2, 4, 6, 1, 3, 5, 7])
        self.assertEqual(self.positions("by_rank"), [0, 1, 2, 3, 4, 5, 6, 7])
        self.assertEqual(self.positions("by_microbatch"), [0, 1, 4, 5, 2, 3, 6, 7])


def mesh_of(tp):
    result = mesh.Mesh(rank=1, world_size=tp)
    result.add("tp", list(range(tp)))
    return result


class Activations(unittest.TestCase):
    batch = activations.BatchShape(4, 32)

    def locate(self, shape, style=None, tp=1, scale=1.0):
        return activations.locate(shape, self.batch, placement.Samples(4), mesh_of(tp), style,
                                  scale)

    def test_whole_on_one_rank(self):
        self.assertEqual(self.locate((4, 32, 64))["shape"], [4, 32, 64])

    def test_shard_of_the_last_dimension(self):
        found = self.locate((4, 32, 64), ("shard", 64, 128), 2)
        self.assertEqual(found["shape"], [4, 32, 128])
        self.assertEqual(found["regions"], [[[0, 0, 0], [0, 0, 64], [4, 32, 64]]])
        self.assertEqual(found["mesh"]["tp"], "shard")

    def test_shape_alone_says_nothing_under_tp(self):
        self.assertIsNone(self.locate((4, 32, 64), None, 2))

    def test_heads_are_cut_as_a_whole(self):
        found = self.locate((4, 2, 32, 16), ("shard", 32, 64), 2)  # sample, head, token, channel
        self.assertEqual(found["axes"], ["sample", "dim1", "token", "dim3"])
        self.assertEqual(found["shape"], [4, 4, 32, 16])
        self.assertEqual(found["regions"][0][1], [0, 2, 0, 0])
        found = self.locate((4, 32, 2, 16), ("shard", 32, 64), 2)  # sample, token, head, channel
        self.assertEqual(found["regions"][0][1], [0, 0, 2, 0])
        self.assertIsNone(self.locate((4, 2, 32, 16), ("shard", 24, 64), 2), "half a head")
        self.assertIsNone(self.locate((4, 2, 32, 16), None, 2))

    def test_width_is_what_is_neither_sample_nor_token(self):
        widths = [activations.width_of(shape, self.batch, 2)
                  for shape in ((4, 2, 32, 16), (4, 32, 2, 16), (4, 32, 32), (4, 16, 32),
                                (128, 32))]
        self.assertEqual(widths, [32] * 5)
        self.assertIsNone(activations.width_of((3, 5), self.batch, 2))

    def test_tokens_come_first_in_megatron(self):
        batch = activations.BatchShape(4, 32, sample_first=False)
        locate = lambda shape: activations.locate(
            shape, batch, placement.Samples(4), mesh_of(1), None)
        found = locate((32, 4, 64))
        self.assertEqual(found["shape"], [4, 32, 64])
        self.assertEqual(found["to_logical"], [1, 0, 2])
        self.assertNotIn("to_logical", locate((4, 32)))
        self.assertNotIn("to_logical", locate((4, 32, 64)))

    def test_tokens_cut_by_sequence_parallelism(self):
        found = self.locate((4, 16, 64), ("replicated", 0, 64), 2)
        self.assertEqual(found["shape"], [4, 32, 64])
        self.assertEqual(found["regions"][0][1], [0, 16, 0])

    def test_flattened_samples_and_tokens(self):
        self.assertEqual(self.locate((128, 256))["shape"], [128, 256])

    def test_what_has_no_samples_is_unknown(self):
        self.assertIsNone(self.locate((32, 16)))

    def test_scale_of_a_mean_over_own_samples(self):
        self.assertEqual(self.locate((4, 32, 64), scale=2.0)["mesh"]["dp"], ["batch", "sum", 2.0])


class Names(unittest.TestCase):
    def test_wrappers_leave_no_trace(self):
        self.assertEqual(names.site_of("_orig_mod.layers.0._checkpoint_wrapped_module.mlp"),
                         "layers.0.mlp")

    def test_a_module_that_is_called_module_stays(self):
        self.assertEqual(names.site_of("module.mlp"), "module.mlp")


if __name__ == "__main__":
    unittest.main()
