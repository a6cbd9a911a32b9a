// SPDX-License-Identifier: Apache-2.0
// The Job as a TorchScript class, torch.classes.nanhunt.Job: what Python loads.
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/version.h>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "hooks/torch_ops/capsules.h"
#include "hooks/torch_ops/job.h"

namespace {

using Work = c10::intrusive_ptr<c10d::Work>;

struct Job : torch::CustomClassHolder, nanhunt::hooks::Job {
  using nanhunt::hooks::Job::Job;
};
using Self = c10::intrusive_ptr<Job>;

struct Capsules : torch::CustomClassHolder, nanhunt::hooks::JobCapsules {
  using nanhunt::hooks::JobCapsules::JobCapsules;
};
using Writer = c10::intrusive_ptr<Capsules>;

struct Capsule : torch::CustomClassHolder, nanhunt::hooks::LoadedCapsule {
  using nanhunt::hooks::LoadedCapsule::LoadedCapsule;
};
using Reader = c10::intrusive_ptr<Capsule>;

}  // namespace

// Read by the package from the file, before it is loaded into a torch of another version.
extern "C" __attribute__((used, visibility("default"))) const char nanhunt_built_for[] =
    "nanhunt built for torch " TORCH_VERSION;

TORCH_LIBRARY(nanhunt, library) {
  library.class_<Job>("Job")
      .def(torch::init<std::string>())
      .def("on", [](const Self& job) { return job->on(); })
      .def("plan", [](const Self& job) { return job->plan(); })
      .def("wants", [](const Self& job, const std::string& site,
                       const std::string& phase) { return job->wants(site, phase); })
      .def("begin_step", [](const Self& job, int64_t step) { job->begin_step(step); })
      .def("end_step", [](const Self& job) { job->end_step(); })
      .def("point", [](const Self& job, const std::string& json) { return job->point(json); })
      .def("tap", [](const Self& job, int64_t point, const at::Tensor& tensor,
                     int64_t microbatch, const std::string& attributes) {
        return job->tap(point, tensor, microbatch, attributes);
      })
      .def("tap_each", [](const Self& job, const std::vector<int64_t>& points,
                          const std::vector<at::Tensor>& tensors,
                          const std::vector<std::string>& attributes) {
        job->tap_each(points, tensors, attributes);
      })
      .def("sources",
           [](const Self& job, const at::Tensor& tensor) { return job->sources(tensor); })
      .def("scalar",
           [](const Self& job, int64_t point, double value) { job->scalar(point, value); })
      .def("fact", [](const Self& job, const std::string& key,
                      const std::string& value) { job->fact(key, value); })
      .def("keep", [](const Self& job, const at::Tensor& tensor) { job->keep(tensor); })
      .def("perturb_parameter",
           [](const Self& job, const std::string& name, const at::Tensor& parameter) {
             job->perturb_parameter(name, parameter);
           })
      .def("group", [](const Self& job, const std::string& name, const std::vector<int64_t>& ranks,
                       const std::string& axis) { job->group(name, ranks, axis); })
      .def("enter", [](const Self& job, const std::string& site) { job->enter(site); })
      .def("leave", [](const Self& job) { job->leave(); })
      .def("issuing", [](const Self& job, bool by_program) { job->issuing(by_program); })
      .def("waited", [](const Self& job, const Work& work) { job->waited(work.get()); })
      .def("name_gradient", [](const Self& job, const std::string& site,
                               const at::Tensor& gradient) { job->name_gradient(site, gradient); })
      .def("fail", [](const Self& job, const std::string& what) { job->fail(what); })
      .def("died", [](const Self& job, const std::string& what) { job->died(what); })
      .def("close", [](const Self& job) { job->close(); });

  library.class_<Capsules>("Capsules")
      .def(torch::init<std::string, std::string>())
      .def("begin", [](const Writer& writer, int64_t step) { writer->begin(step); })
      .def("add", [](const Writer& writer, const std::string& point,
                     const at::Tensor& tensor) { return writer->add(point, tensor); })
      .def("end", [](const Writer& writer) { writer->end(); })
      .def("close", [](const Writer& writer) { writer->close(); });

  library.class_<Capsule>("Capsule")
      .def(torch::init<std::string, int64_t, std::string>())
      .def("step", [](const Reader& reader) { return reader->step(); })
      .def("tensors", [](const Reader& reader) { return reader->tensors(); })
      .def("load", [](const Reader& reader, const std::string& point,
                      const at::Tensor& tensor) { return reader->load(point, tensor); });
}
