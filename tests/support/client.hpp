// A raw client connection: sends exact bytes, reads strictly. Threads: one at a time for each client.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "support/message.hpp"
#include "support/socket.hpp"

namespace weir::test {

// The bytes of a request. `Host: weir.test` is added unless `fields` has one (`localhost` for calls of the admin listener),
// and `Content-Length` if there is a body.
std::string write_request(std::string_view method, std::string_view target, Fields const& fields = {},
                          std::string_view body = {});

class Client {
 public:
  // Fails the test if nobody listens there.
  explicit Client(std::uint16_t port, ConnectOptions const& options = {});

  void send(std::string_view bytes);  // fails the test if the peer takes no more
  void send_request(std::string_view method, std::string_view target, Fields const& fields = {}, std::string_view body = {});
  // The next final response; to `send_request` calls in their order, else to a GET. Silence for `bound` fails the test.
  Response read(Milliseconds bound = patience) { return read_until(std::numeric_limits<std::size_t>::max(), bound); }
  // The same response as far as it came, once its head and `bytes` of its body are there; `read` goes on with it.
  Response read_at_least(std::size_t bytes, Milliseconds bound = patience) { return read_until(bytes, bound); }
  Response request(std::string_view method, std::string_view target, Fields const& fields = {}, std::string_view body = {});
  Response get(std::string_view target, Fields const& fields = {}) { return request("GET", target, fields); }

  // At most `most` raw bytes, for slow readers and tunnels; empty at the end of input. Silence fails the test.
  std::string read_some(std::size_t most, Milliseconds bound = patience);
  std::string read_exactly(std::size_t size, Milliseconds bound = patience);
  // All that comes until the peer closes.
  std::string read_to_end(Milliseconds bound = patience);

  void finish_sending() { socket_.finish_sending(); }
  void close() { socket_.close(); }
  void reset() { socket_.reset(); }

  std::string const& unread() const noexcept { return buffer_; }  // came after the last response that was read
  bool has_answer() const;                                        // bytes wait to be read; does not wait
  bool is_closed() const;                                         // the peer closed or reset, and nothing is left to read
  bool waits_until_closed(Milliseconds bound = Milliseconds{20'000}) const;
  std::uint16_t port() const { return local_port(socket_); }

 private:
  Response read_until(std::size_t enough, Milliseconds bound);

  Socket socket_;
  std::string buffer_;
  std::deque<std::string> methods_;        // of requests that wait for their responses
  std::optional<ResponseReader> reading_;  // a response that has been read in part
};

// One request on a connection of its own.
Response get(std::uint16_t port, std::string_view target, Fields const& fields = {});

}  // namespace weir::test
