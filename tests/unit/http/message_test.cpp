// Methods, and when a request has a body. REQ-2 (any method token), REQ-4, SRV-6 (unknown methods are unsafe).
#include "weir/http/message.hpp"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(Method, Properties) {
  struct Row {
    std::string_view token;
    Method method;
    bool safe;
    bool idempotent;
  };
  for (auto const& row : {
           Row{"GET", Method::get, true, true},
           Row{"HEAD", Method::head, true, true},
           Row{"POST", Method::post, false, false},
           Row{"PUT", Method::put, false, true},
           Row{"DELETE", Method::delete_, false, true},
           Row{"OPTIONS", Method::options, true, true},
           Row{"PATCH", Method::patch, false, false},
           Row{"QUERY", Method::query, true, true},
           Row{"PURGE", Method::purge, false, false},
           Row{"CONNECT", Method::connect, false, false},
           Row{"TRACE", Method::trace, true, true},
           Row{"get", Method::other, false, false},
           Row{"GETS", Method::other, false, false},
           Row{"", Method::other, false, false},
       }) {
    SCOPED_TRACE(row.token);
    EXPECT_EQ(method_of(row.token), row.method);
    EXPECT_EQ(is_safe(row.method), row.safe);
    EXPECT_EQ(is_idempotent(row.method), row.idempotent);
  }
}

TEST(Request, HasBody) {
  struct Row {
    std::string_view name;
    Framing framing;
    bool has_body;
  };
  for (auto const& row : {
           Row{"none", {}, false},
           Row{"length 0", {BodyKind::length, 0}, false},
           Row{"length 1", {BodyKind::length, 1}, true},
           Row{"chunked", {BodyKind::chunked, 0}, true},
       }) {
    SCOPED_TRACE(row.name);
    Request request;
    request.framing = row.framing;
    EXPECT_EQ(request.has_body(), row.has_body);
  }
}

TEST(ReasonPhrase, Registered) {
  struct Row {
    int status;
    std::string_view phrase;
  };
  for (auto const& row :
       {Row{103, "Early Hints"}, Row{200, "OK"}, Row{206, "Partial Content"}, Row{304, "Not Modified"},
        Row{400, "Bad Request"}, Row{405, "Method Not Allowed"}, Row{413, "Content Too Large"}, Row{414, "URI Too Long"},
        Row{431, "Request Header Fields Too Large"}, Row{501, "Not Implemented"}, Row{503, "Service Unavailable"},
        Row{504, "Gateway Timeout"}, Row{505, "HTTP Version Not Supported"}, Row{508, "Loop Detected"}, Row{299, ""},
        Row{0, ""}, Row{306, ""}, Row{-1, ""}, Row{999, ""}}) {
    EXPECT_EQ(reason_phrase(row.status), row.phrase) << row.status;
  }
}

}  // namespace
}  // namespace weir::http
