// A client that says every byte itself, in pieces of its choice, and reads strictly. Threads: one.
#pragma once

#include <string>
#include <string_view>

#include "support/message.hpp"
#include "support/socket.hpp"

namespace weir::test {

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(connect_to(port)) {}

  // Ends quietly where the peer takes no more.
  void send(std::string_view bytes, std::size_t piece = std::string_view::npos) {
    for (bool taken = true; taken && !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
      taken = socket_.send_all(bytes.substr(0, piece));
  }
  // The next answer, to a request of `method`, as far as it comes.
  Response read(std::string_view method = "GET") {
    ResponseReader reader(method);
    while (!reader.take(buffer_)) {
      auto const got = socket_.receive(buffer_, 65'536);
      if (got == Socket::Got::bytes) continue;
      return reader.so_far(got == Socket::Got::end ? End::finished : got == Socket::Got::reset ? End::reset : End::silence);
    }
    return reader.so_far(End::whole);
  }
  // Whether the peer ends its side with nothing more to say.
  bool ends_here() { return buffer_.empty() && socket_.receive(buffer_, 65'536) == Socket::Got::end && buffer_.empty(); }
  Socket& socket() noexcept { return socket_; }

 private:
  Socket socket_;
  std::string buffer_;
};

}  // namespace weir::test
