// One read of a head from bytes that the reader keeps, for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/wire/head.hpp"

namespace weir::wire {

inline constexpr std::string_view step_name(HeadStep step) {
  switch (step) {
    case HeadStep::refused:
      return "refused";
    case HeadStep::need_more:
      return "need_more";
    case HeadStep::ready:
      return "ready";
  }
  return "?";
}

class RequestReader {
 public:
  explicit RequestReader(HeadLimits limits = {}, std::string_view scheme = "http") : limits_(limits), scheme_(scheme) {}
  RequestHead read(std::string_view bytes) { return read_request_head(bytes, scheme_, limits_, *room_, scanned_); }
  std::size_t scanned() const { return scanned_; }

 private:
  HeadLimits limits_;
  std::string_view scheme_;
  std::unique_ptr<HeadRoom> room_ = std::make_unique<HeadRoom>();
  std::size_t scanned_ = 0;
};

class ResponseReader {
 public:
  explicit ResponseReader(http::Method method = http::Method::get, HeadLimits limits = {})
      : method_(method), limits_(limits) {}
  ResponseHead read(std::string_view bytes) { return read_response_head(bytes, method_, limits_, *room_, scanned_); }

 private:
  http::Method method_;
  HeadLimits limits_;
  std::unique_ptr<HeadRoom> room_ = std::make_unique<HeadRoom>();
  std::size_t scanned_ = 0;
};

inline std::string framing_text(http::Framing const& framing) {
  switch (framing.kind) {
    case http::BodyKind::none:
      return "none";
    case http::BodyKind::length:
      return "length " + std::to_string(framing.length);
    case http::BodyKind::chunked:
      return "chunked";
    case http::BodyKind::until_close:
      return "until_close";
  }
  return "?";
}

inline std::string fields_text(http::Fields fields) {
  std::string text;
  for (auto const& field : fields) text.append(field.name).append("=").append(field.value).append("\n");
  return text;
}

// Everything that a read says, as one comparable text.
inline std::string text_of(RequestHead const& head) {
  std::string text(step_name(head.step));
  text.append(" ").append(label(head.refusal));
  if (head.step != HeadStep::ready) return text;
  auto const& request = head.request;
  text.append(" size ").append(std::to_string(head.size)).append(" version ").append(std::to_string(request.version));
  for (auto const part : {request.method, request.target, request.scheme, request.authority, request.path, request.query}) {
    text.append("|").append(part);
  }
  text.append(request.has_query ? "|query" : "|").append(request.keep_alive ? "|keep" : "|close");
  text.append(request.expects_continue ? "|expects|" : "|").append(framing_text(request.framing)).append("\n");
  return text.append(fields_text(request.fields));
}

inline std::string text_of(ResponseHead const& head) {
  std::string text(step_name(head.step));
  text.append(" ").append(std::to_string(static_cast<int>(head.fault)));
  if (head.step != HeadStep::ready) return text;
  auto const& response = head.response;
  text.append(" size ").append(std::to_string(head.size)).append(" version ").append(std::to_string(response.version));
  text.append(" ").append(std::to_string(response.status)).append("|").append(response.reason);
  text.append(response.keep_alive ? "|keep|" : "|close|").append(framing_text(response.framing)).append("\n");
  return text.append(fields_text(response.fields));
}

}  // namespace weir::wire
