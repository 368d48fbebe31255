// A blocking client for the admin listener: bytes out, whole responses in. Every read ends by itself after ten seconds, so
// a test that goes wrong fails and does not hang.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::admin {

struct RawResponse {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
};

class RawClient {
 public:
  static RawClient tcp(std::uint16_t port);
  static RawClient unix_socket(std::string const& path);
  RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient();

  bool connected() const noexcept { return socket_ >= 0; }
  void send(std::string_view bytes);
  // One response; nothing if the connection ends or breaks before it is whole.
  std::optional<RawResponse> receive(bool head_only = false);
  // Whether the peer closes without another byte.
  bool ends();
  // Sends and receives.
  std::optional<RawResponse> ask(std::string_view bytes) {
    send(bytes);
    return receive();
  }

 private:
  explicit RawClient(int socket) noexcept : socket_(socket) {}
  bool fill();

  int socket_;
  std::string buffer_;
};

}  // namespace weir::admin
