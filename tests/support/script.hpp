// What a scripted origin answers: bytes, with gates and breaks between them. A script is a value; copies share its gates.
//
//   respond(200, {{"Cache-Control", "max-age=60"}}, "hello")
//   Script().head(200, {{"Content-Length", "10"}}).body("hello").wait(gate).body("world")
//   respond(200, {}, std::string(1000, 'x')).reset_after(500)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/gate.hpp"
#include "support/message.hpp"

namespace weir::test {

class Script {
 public:
  // Exact bytes, whatever the request's method.
  Script& send(std::string bytes);
  // A head with exactly these fields.
  Script& head(int status, Fields const& fields = {});
  // Body bytes: left out when the request is a HEAD.
  Script& body(std::string bytes);
  Script& chunk(std::string_view bytes);
  Script& last_chunk(Fields const& trailers = {});

  // Nothing more is sent until the gate opens. When the other side leaves meanwhile, the script ends.
  Script& wait(Gate const& gate);

  // How the connection ends; without one of these it stays open for the next request.
  Script& close();  // FIN
  Script& reset();  // RST
  Script& hang();   // neither, until the other side leaves or the origin stops
  // Cuts the script after `bytes` sent bytes of it and ends the connection there.
  Script& close_after(std::size_t bytes);
  Script& reset_after(std::size_t bytes);

  struct Send {
    std::string bytes;
    bool is_body;
  };
  struct Close {};
  struct Reset {};
  struct Hang {};
  using Step = std::variant<Send, Gate, Close, Reset, Hang>;
  std::vector<Step> const& steps() const noexcept { return steps_; }

 private:
  void cut(std::size_t bytes);

  std::vector<Step> steps_;
};

// A response framed by `Content-Length` (which 1xx, 204, 304 and fields that frame it already do not get).
Script respond(int status, Fields fields = {}, std::string body = {});
// One chunk for each piece, then the last chunk.
Script respond_chunked(int status, Fields fields, std::vector<std::string> const& pieces, Fields const& trailers = {});
// Framed by the end of the connection.
Script respond_until_close(int status, Fields fields, std::string body);
// Nothing at all.
Script hang();
Script reset();
Script close();

}  // namespace weir::test
