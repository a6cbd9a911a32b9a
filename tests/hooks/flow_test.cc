// SPDX-License-Identifier: Apache-2.0
// Flow of records through ATen ops, by hand-set marks: views, casts, in-place ops, autograd, lists.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>

#include "hooks/flow_map.h"
#include "hooks/flow_observer.h"

namespace nanhunt::hooks {
namespace {

class Flow : public testing::Test {
 protected:
  Flow() {
    observe_flow();
    FlowMap::bind_to_this_thread(map_);
  }
  ~Flow() override { FlowMap::bind_to_this_thread(nullptr); }

  at::Tensor marked(at::Tensor tensor, int64_t mark) {
    map_->assign(tensor, {{mark}});
    return tensor;
  }
  CarriedSet of(const at::Tensor& tensor) { return map_->carried(tensor).records; }

  std::shared_ptr<FlowMap> map_ = std::make_shared<FlowMap>();
};

TEST_F(Flow, ThroughOpsViewsAndCasts) {
  const at::Tensor a = marked(at::ones({4, 6}), 1);
  const at::Tensor b = marked(at::ones({6, 4}), 2);
  const at::Tensor product = at::matmul(a, b.view({24}).view({6, 4}));
  EXPECT_EQ(of(product), (CarriedSet{1, 2}));
  EXPECT_EQ(of(product.t().to(at::kBFloat16).to(at::kFloat).reshape({2, 8})), (CarriedSet{1, 2}));
  EXPECT_EQ(of(product + marked(at::ones({4, 4}), 3)), (CarriedSet{1, 2, 3}));
  EXPECT_EQ(of(a), (CarriedSet{1})) << "reading changes nothing";
  EXPECT_EQ(of(at::ones({4})), CarriedSet{});
}

TEST_F(Flow, ViewLikeOpsTakeNothingFromTheShapeGiver) {
  const at::Tensor a = marked(at::ones({4, 6}), 1);
  const at::Tensor shape = marked(at::ones({6, 4}), 2);
  EXPECT_EQ(of(a.view_as(shape)), (CarriedSet{1}));
}

TEST_F(Flow, InPlaceAddsAndCopyOverwrites) {
  const at::Tensor a = marked(at::ones({4}), 1);
  const at::Tensor b = marked(at::ones({4}), 2);
  a.add_(b);
  EXPECT_EQ(of(a), (CarriedSet{1, 2}));
  EXPECT_EQ(of(b), (CarriedSet{2}));
  a.copy_(marked(at::ones({4}), 3));
  EXPECT_EQ(of(a), (CarriedSet{3}));
  a.zero_();
  EXPECT_EQ(of(a), CarriedSet{});
  at::Tensor out = marked(at::empty({4}), 9);
  at::add_out(out, b, b);
  EXPECT_EQ(of(out), (CarriedSet{2}));
}

TEST_F(Flow, SlicesOfOneStorageStayApart) {
  const at::Tensor bucket = at::zeros({12});
  const at::Tensor first = bucket.narrow(0, 0, 4).view({2, 2});
  const at::Tensor second = bucket.narrow(0, 4, 8);
  first.copy_(marked(at::ones({2, 2}), 1));
  second.add_(marked(at::ones({8}), 2));
  EXPECT_EQ(of(bucket.narrow(0, 0, 4)), (CarriedSet{1}));
  EXPECT_EQ(of(second), (CarriedSet{2}));
  EXPECT_EQ(of(bucket), (CarriedSet{1, 2}));
  EXPECT_EQ(of(bucket.narrow(0, 3, 2)), (CarriedSet{1, 2})) << "overlaps both";
  bucket.mul_(0.5);
  EXPECT_EQ(of(first), (CarriedSet{1})) << "scaling all of it mixes nothing";
  map_->assign(bucket, {{7}});
  EXPECT_EQ(of(first), (CarriedSet{7})) << "a collective over the bucket reaches its slices";
}

TEST_F(Flow, InterleavedViewsStayApart) {
  const at::Tensor qkv = marked(at::randn({2, 3, 3 * 8}), 1);
  const auto parts = qkv.chunk(3, -1);
  map_->assign(parts[0], {{2}});
  map_->assign(parts[1], {{3}});
  EXPECT_EQ(of(parts[0].view({2, 3, 2, 4})), (CarriedSet{2}));
  EXPECT_EQ(of(parts[1]), (CarriedSet{3}));
  EXPECT_EQ(of(parts[2]), (CarriedSet{1}));
  EXPECT_EQ(of(at::matmul(parts[0], parts[1].transpose(-1, -2))), (CarriedSet{2, 3}));
}

TEST_F(Flow, ThroughAutograd) {
  const at::Tensor weight = marked(at::randn({4, 4}), 1);
  weight.requires_grad_(true);
  const at::Tensor x = marked(at::randn({2, 4}), 2);
  const at::Tensor hidden = at::linear(x, weight);
  map_->assign(hidden, {{3}});
  const at::Tensor loss = at::gelu(hidden).sum();
  map_->assign(loss, {{4}});
  torch::autograd::backward({loss}, {});
  const CarriedSet gradient = of(weight.grad());
  EXPECT_TRUE(std::binary_search(gradient.begin(), gradient.end(), 2)) << "saved activation";
  EXPECT_TRUE(std::binary_search(gradient.begin(), gradient.end(), 3)) << "gelu's input";
  EXPECT_FALSE(std::binary_search(gradient.begin(), gradient.end(), 1)) << "not its own weight";
}

TEST_F(Flow, ListsMeetElementByElement) {
  const std::vector<at::Tensor> parameters{marked(at::ones({3}), 1), marked(at::ones({5}), 2)};
  const std::vector<at::Tensor> gradients{marked(at::ones({3}), 3), marked(at::ones({5}), 4)};
  at::_foreach_add_(parameters, gradients, 0.1);
  EXPECT_EQ(of(parameters[0]), (CarriedSet{1, 3}));
  EXPECT_EQ(of(parameters[1]), (CarriedSet{2, 4}));

  const std::vector<at::Tensor> m{at::zeros({3}), at::zeros({5})},
      v{at::zeros({3}), at::zeros({5})};
  const std::vector<at::Tensor> steps{at::ones({}), at::ones({})};
  at::_fused_adamw_(parameters, gradients, m, v, {}, steps, 1e-3, 0.9, 0.99, 0.01, 1e-8, false,
                    false);
  EXPECT_EQ(of(m[0]), (CarriedSet{1, 3}));
  EXPECT_EQ(of(v[1]), (CarriedSet{2, 4}));
}

// Squares of unit roundoffs add along the data; what only moves values adds nothing.
TEST_F(Flow, RoundingAddsUp) {
  const auto rounding = [&](const at::Tensor& tensor) { return map_->carried(tensor).rounding; };
  constexpr double kFp32 = 0x1p-48, kBf16 = 0x1p-16, kFp8 = 0x1p-8;
  const at::Tensor x = marked(at::randn({4, 4}), 1), weight = marked(at::randn({4, 4}), 2);
  EXPECT_EQ(rounding(x), 0);
  EXPECT_DOUBLE_EQ(rounding(x * 2), kFp32);
  EXPECT_DOUBLE_EQ(rounding(x * 2 + weight), 2 * kFp32);
  EXPECT_EQ(rounding(x.t().reshape({-1})), 0) << "where it cannot be a view it copies";
  EXPECT_EQ(rounding(at::cat({x, weight}).t().contiguous().to(at::kDouble)), 0);
  EXPECT_DOUBLE_EQ(rounding(at::linear(x, weight)), kFp32) << "an op inside an op counts once";
  const at::Tensor low = x.to(at::kBFloat16);
  EXPECT_DOUBLE_EQ(rounding(low), kBf16);
  EXPECT_DOUBLE_EQ(rounding(at::linear(low, weight.to(at::kBFloat16))), 3 * kBf16);
  const at::Tensor quantised = x.to(at::kFloat8_e4m3fn).to(at::kFloat);
  EXPECT_DOUBLE_EQ(rounding(quantised), kFp8);
  at::Tensor changed = marked(at::ones({4, 4}), 3);
  changed.add_(quantised);
  EXPECT_DOUBLE_EQ(rounding(changed), kFp8 + kFp32);
  changed.copy_(x);
  EXPECT_EQ(rounding(changed), 0);
  EXPECT_EQ(rounding(at::mm(marked(quantised.clone(), 4), x)), kFp32) << "a record begins anew";
}

// The gradient of a product with a quantised weight has the weight's error, though no op of
// backward rounds to FP8.
TEST_F(Flow, RoundingReachesGradients) {
  const at::Tensor x = marked(at::randn({2, 4}), 1).requires_grad_(true);
  const at::Tensor weight = marked(at::randn({4, 4}), 2).to(at::kFloat8_e4m3fn).to(at::kFloat);
  const at::Tensor output = at::mm(x, weight);
  map_->assign(output, {{3}});
  torch::autograd::backward({output.sum()}, {});
  EXPECT_NEAR(map_->carried(x.grad()).rounding, 0x1p-8, 0x1p-40);
}

TEST_F(Flow, SetsAreCutToTheLatest) {
  at::Tensor sum = at::zeros({2});
  for (int64_t i = 0; i < 100; ++i) sum = sum + marked(at::ones({2}), i);
  const CarriedSet set = of(sum);
  ASSERT_EQ(set.size(), kMaxCarried);
  EXPECT_EQ(set.front(), 36);
  EXPECT_EQ(set.back(), 99);
}

TEST_F(Flow, StepEmptiesTheMapButForKeptStorages) {
  const at::Tensor weight = marked(at::ones({2}), 1), x = marked(at::ones({2}), 2);
  map_->keep(weight);
  map_->begin_step();
  EXPECT_EQ(map_->size(), 1u);
  EXPECT_EQ(of(weight), CarriedSet{}) << "numbers of an earlier step are no links";
  EXPECT_EQ(of(x), CarriedSet{});
}

TEST_F(Flow, AddressOfAFreedStorageIsNotReused) {
  for (int i = 0; i < 200; ++i) {
    const at::Tensor fresh = at::empty({16});
    ASSERT_EQ(of(fresh), CarriedSet{});
    map_->assign(fresh, {{i}});
  }
}

TEST_F(Flow, ThreadsWithoutAMapAreNotFollowed) {
  const at::Tensor a = marked(at::ones({2}), 1);
  at::Tensor b;
  std::thread([&] { b = a + a; }).join();
  EXPECT_EQ(of(b), CarriedSet{});
  EXPECT_EQ(of(a + a), (CarriedSet{1}));
  map_->close();
  EXPECT_EQ(of(a + a), CarriedSet{});
}

}  // namespace
}  // namespace nanhunt::hooks
