// SPDX-License-Identifier: Apache-2.0
#include "socket_backend.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr const char* kPortKey = "socket_backend_port";

sockaddr_in local(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Rank 0 listens and tells its port in the store; rank 1 calls.
int listen_and_accept(c10d::Store& store) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = local(0);
  TORCH_CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  TORCH_CHECK(::listen(listener, 1) == 0);
  socklen_t length = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  store.set(kPortKey, std::to_string(ntohs(address.sin_port)));
  const int connection = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  TORCH_CHECK(connection >= 0, "no peer");
  return connection;
}

int connect_to_peer(c10d::Store& store) {
  const std::vector<uint8_t> port = store.get(kPortKey);
  const sockaddr_in address = local(std::stoi(std::string(port.begin(), port.end())));
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  TORCH_CHECK(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
              0);
  return connection;
}

void send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, data, size, MSG_NOSIGNAL);
    TORCH_CHECK(sent > 0, "the peer is gone");
    data += sent;
    size -= sent;
  }
}

void receive_all(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t received = ::recv(socket, data, size, 0);
    TORCH_CHECK(received > 0, "the peer is gone");
    data += received;
    size -= received;
  }
}

}  // namespace

class SocketBackend::Reduction : public c10d::Work {
 public:
  Reduction(int rank, std::vector<at::Tensor> tensors_to_sum)
      : Work(rank, c10d::OpType::ALLREDUCE), tensors(std::move(tensors_to_sum)) {}
  void end(std::exception_ptr error) { finish(error); }
  std::vector<at::Tensor> tensors;
};

SocketBackend::SocketBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size)
    : Backend(rank, size) {
  TORCH_CHECK(size == 2, "the example's backend joins two ranks");
  socket_ = rank == 0 ? listen_and_accept(*store) : connect_to_peer(*store);
  thread_ = std::thread([this] { run(); });
}

SocketBackend::~SocketBackend() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  ::close(socket_);
}

c10::intrusive_ptr<c10d::Work> SocketBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                        const c10d::AllreduceOptions& options) {
  TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM, "the example's backend only sums");
  auto reduction = c10::make_intrusive<Reduction>(getRank(), tensors);
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(reduction);
  }
  wake_.notify_one();
  return reduction;
}

void SocketBackend::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto reduction = queue_.front();
    queue_.pop_front();
    lock.unlock();
    try {
      for (at::Tensor& tensor : reduction->tensors) sum_with_peer(tensor);
      reduction->end(nullptr);
    } catch (...) {
      reduction->end(std::current_exception());
    }
  }
}

void SocketBackend::sum_with_peer(at::Tensor& tensor) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat && tensor.is_contiguous());
  const size_t bytes = tensor.nbytes();
  std::vector<float> theirs(tensor.numel());
  auto* mine = static_cast<float*>(tensor.mutable_data_ptr());
  // One speaks first, so that two full socket buffers never wait for each other.
  for (const bool speaks : {getRank() == 0, getRank() != 0}) {
    if (speaks) {
      send_all(socket_, reinterpret_cast<const char*>(mine), bytes);
    } else {
      receive_all(socket_, reinterpret_cast<char*>(theirs.data()), bytes);
    }
  }
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    mine[i] = getRank() == 0 ? mine[i] + theirs[i] : theirs[i] + mine[i];
  }
}
