// Shapes of requests that say where they end: by lengths, by codings, by both, and in chunks.
#pragma once

#include "scenario/shape.hpp"

namespace weir::test {

inline std::vector<Shape> length_shapes() {
  auto const length = [](std::string const& name, std::string const& value, Refusal refusal = Refusal::content_length,
                         int status = 400) {
    return refused("length " + name, post("Content-Length: " + value, evil_request), refusal, status);
  };
  auto const good = [](std::string const& name, std::string const& line, std::string const& body) {
    return forwarded("length " + name, post(line, body), "POST", "/x", body);
  };
  auto const repeated = Refusal::content_length_repeated;
  return {
      good("exact", "Content-Length: " + evil_size, evil_request),
      good("in capitals", "CONTENT-LENGTH: " + evil_size, evil_request),
      good("in small letters", "content-length: " + evil_size, evil_request),
      good("without a space", "Content-Length:" + evil_size, evil_request),
      good("with spaces and tabs around", "Content-Length: \t " + evil_size + " \t", evil_request),
      good("with zeros before", "Content-Length: 000" + evil_size, evil_request),
      good("of none", "Content-Length: 0", ""),
      good("of none in zeros", "Content-Length: 0000", ""),
      good("of a part of a line", "Content-Length: 3", "GET"),
      length("empty", ""),
      length("of a space", " "),
      length("with a plus", "+" + evil_size),
      length("with a minus", "-" + evil_size),
      length("of minus none", "-0"),
      length("in hex", "0x" + hex(evil_request.size())),
      length("in letters", "a"),
      length("with a letter behind", evil_size + "a"),
      length("with a semicolon behind", evil_size + ";"),
      length("with a fraction", evil_size + ".0"),
      length("with an exponent", evil_size + "e0"),
      length("with an underscore", "3_8"),
      length("of two words", evil_size + " " + evil_size),
      length("in quotes", "\"" + evil_size + "\""),
      length("with a tab inside", "3\t8"),
      length("with a form feed before", "\x0c" + evil_size, Refusal::field_value),
      length("with a vertical tab behind", evil_size + "\x0b", Refusal::field_value),
      length("with a NUL behind", evil_size + "\0"s, Refusal::field_value),
      length("with a wide space before", "\xa0" + evil_size),
      length("with a next line behind", evil_size + "\x85"),
      length("in wide digits", "\xef\xbc\x93\xef\xbc\x98"),
      length("over 64 bits", "18446744073709551654"),
      length("over 32 bits", "4294967334", Refusal::body_too_large, 413),
      length("over 63 bits", "9223372036854775846", Refusal::body_too_large, 413),
      length("of 64 bits", "18446744073709551615", Refusal::body_too_large, 413),
      length("without end", std::string(300, '9')),
      length("one over the bound", "67108865", Refusal::body_too_large, 413),
      length("list of equals", evil_size + ", " + evil_size, repeated),
      length("list of others", evil_size + ",0", repeated),
      length("list with an empty end", evil_size + ","),
      length("list with an empty beginning", "," + evil_size),
      length("twice", evil_size + "\r\nContent-Length: " + evil_size, repeated),
      length("twice, in another spelling", evil_size + "\r\ncontent-lengtH: " + evil_size, repeated),
      length("twice, otherwise", "0\r\nContent-Length: " + evil_size, repeated),
      length("twice, in other digits", evil_size + "\r\nContent-Length: 0" + evil_size, repeated),
      length("thrice", evil_size + "\r\nX: y\r\nContent-Length: 0\r\nContent-Length: " + evil_size, repeated),
      length("twice, once bad", evil_size + "\r\nContent-Length: x", Refusal::content_length),
      length("twice, once empty", "\r\nContent-Length: " + evil_size, Refusal::content_length),
      refused("length with a space before its colon", post("Content-Length : " + evil_size, evil_request),
              Refusal::field_name),
      refused("length with a tab before its colon", post("Content-Length\t: " + evil_size, evil_request),
              Refusal::field_name),
      refused("length with a NUL in its name", post("Content-\0Length: "s + evil_size, evil_request), Refusal::field_name),
      refused("length with a space in its name", post("Content Length: " + evil_size, evil_request), Refusal::field_name),
      refused("length folded", post("Content-Length:\r\n " + evil_size, evil_request), Refusal::obs_fold),
      refused("length folded in two", post("Content-Length: 3\r\n 8", evil_request), Refusal::obs_fold),
      refused("length behind a bare LF", post("X: y\nContent-Length: " + evil_size, evil_request), Refusal::bare_cr_lf),
      refused("length behind a bare CR", post("X: y\rContent-Length: " + evil_size, evil_request), Refusal::bare_cr_lf),
      refused("length that ends in LF alone", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\n\r\nbody",
              Refusal::bare_cr_lf),
  };
}

inline std::vector<Shape> coding_shapes() {
  auto const coding = [](std::string const& name, std::string const& value, Refusal refusal, int status = 400) {
    return refused("coding " + name, post("Transfer-Encoding: " + value, evil_chunks), refusal, status);
  };
  auto const unknown = [&](std::string const& name, std::string const& value) {
    return coding(name, value, Refusal::transfer_coding, 501);
  };
  auto const unclear = [&](std::string const& name, std::string const& value) {
    return coding(name, value, Refusal::transfer_encoding);
  };
  auto const good = [](std::string const& name, std::string const& line) {
    return forwarded("coding " + name, post(line, evil_chunks), "POST", "/x", evil_request);
  };
  auto const line = [](std::string const& name, std::string const& lines, Refusal refusal) {
    return refused("coding " + name, post(lines, evil_chunks), refusal);
  };
  return {
      good("chunked", "Transfer-Encoding: chunked"),
      good("chunked in capitals", "TRANSFER-ENCODING: CHUNKED"),
      good("chunked in small letters", "transfer-encoding: cHuNkEd"),
      good("chunked without a space", "Transfer-Encoding:chunked"),
      good("chunked with spaces and tabs around", "Transfer-Encoding: \t chunked \t "),
      unknown("gzip", "gzip"),
      unknown("identity", "identity"),
      unknown("gzip before chunked", "gzip, chunked"),
      unknown("identity before chunked", "identity, chunked"),
      unknown("chunked before identity", "chunked, identity"),
      unknown("chunked with letters before", "xchunked"),
      unknown("chunked with letters behind", "chunkedx"),
      unknown("chunked cut short", "chunke"),
      unknown("chunked with a dash", "x-chunked"),
      unknown("chunked in ticks", "'chunked'"),
      unknown("cow", "cow"),
      unknown("chunked behind two others", "a, b, chunked"),
      unclear("empty", ""),
      unclear("of a comma", ","),
      unclear("chunked and a comma", "chunked,"),
      unclear("a comma and chunked", ", chunked"),
      unclear("chunked twice", "chunked, chunked"),
      unclear("chunked in two lines", "chunked\r\nTransfer-Encoding: chunked"),
      unclear("chunked and an empty line", "chunked\r\nTransfer-Encoding:"),
      unclear("an empty line and chunked", "\r\nTransfer-Encoding: chunked"),
      unclear("chunked and gzip in two lines", "chunked\r\nTransfer-Encoding: gzip"),
      unknown("identity and chunked in two lines", "identity\r\nTransfer-Encoding: chunked"),
      unclear("chunked and a word", "chunked x"),
      unclear("chunked with a parameter", "chunked;q=1"),
      unclear("chunked with an empty parameter", "chunked;"),
      unclear("chunked in quotes", "\"chunked\""),
      unclear("chunked in brackets", "[chunked]"),
      unclear("chunked behind a quote", "\"a, chunked"),
      unclear("chunked with a wide space before",
              "\xa0"
              "chunked"),
      unclear("chunked with a next line behind", "chunked\x85"),
      unclear("chunked with a soft hyphen inside", "chun\xadked"),
      coding("chunked with a vertical tab before",
             "\x0b"
             "chunked",
             Refusal::field_value),
      coding("chunked with a form feed before",
             "\x0c"
             "chunked",
             Refusal::field_value),
      coding("chunked with a NUL behind", "chunked\0"s, Refusal::field_value),
      coding("chunked with a backspace behind", "chunked\x08", Refusal::field_value),
      coding("chunked with a DEL behind", "chunked\x7f", Refusal::field_value),
      line("chunked folded", "Transfer-Encoding:\r\n chunked", Refusal::obs_fold),
      line("chunked folded behind another", "Transfer-Encoding: identity,\r\n\tchunked", Refusal::obs_fold),
      line("chunked in a folded line of another field", "X: y\r\n Transfer-Encoding: chunked", Refusal::obs_fold),
      line("with a space before its colon", "Transfer-Encoding : chunked", Refusal::field_name),
      line("with a tab before its colon", "Transfer-Encoding\t: chunked", Refusal::field_name),
      line("with a NUL before its colon", "Transfer-Encoding\0: chunked"s, Refusal::field_name),
      line("with a vertical tab before its colon", "Transfer-Encoding\x0b: chunked", Refusal::field_name),
      line("with a space in its name", "Transfer Encoding: chunked", Refusal::field_name),
      line("with a wide space in its name", "Transfer-Encoding\xa0: chunked", Refusal::field_name),
      line("with a quote around its name", "\"Transfer-Encoding\": chunked", Refusal::field_name),
      line("with an equals sign for a colon", "Transfer-Encoding=chunked", Refusal::field_name),
      line("behind a bare LF", "X: y\nTransfer-Encoding: chunked", Refusal::bare_cr_lf),
      line("behind a bare CR", "X: y\rTransfer-Encoding: chunked", Refusal::bare_cr_lf),
      line("behind CR CR LF", "X: y\r\r\nTransfer-Encoding: chunked", Refusal::bare_cr_lf),
      line("behind LF CR", "X: y\n\rTransfer-Encoding: chunked", Refusal::bare_cr_lf),
      line("chunked with a bare LF before", "Transfer-Encoding:\nchunked", Refusal::bare_cr_lf),
      line("chunked with a bare CR behind", "Transfer-Encoding: chunked\r", Refusal::bare_cr_lf),
  };
}

// Two statements about one body.
inline std::vector<Shape> shapes_with_both() {
  auto const both = [](std::string const& name, std::string const& lines, Refusal refusal = Refusal::length_and_coding) {
    return refused("both: " + name, post(lines, evil_chunks), refusal);
  };
  std::string const all = "Content-Length: " + std::to_string(evil_chunks.size());
  std::string const chunked = "Transfer-Encoding: chunked";
  return {
      both("length first", all + "\r\n" + chunked),
      both("coding first", chunked + "\r\n" + all),
      both("with a field between", all + "\r\nX: y\r\n" + chunked),
      both("length of none", "Content-Length: 0\r\n" + chunked),
      both("coding, length of none", chunked + "\r\nContent-Length: 0"),
      both("length of a part", "Content-Length: 4\r\n" + chunked),
      both("length too long", "Content-Length: 999\r\n" + chunked),
      both("coding in capitals", all + "\r\nTRANSFER-ENCODING: CHUNKED"),
      both("gzip", all + "\r\nTransfer-Encoding: gzip"),
      both("gzip first", "Transfer-Encoding: gzip\r\n" + all),
      both("identity", all + "\r\nTransfer-Encoding: identity"),
      both("identity first", "Transfer-Encoding: identity\r\n" + all),
      both("no coding", all + "\r\nTransfer-Encoding:"),
      both("no coding, first", "Transfer-Encoding:\r\n" + all),
      both("a coding that is none", all + "\r\nTransfer-Encoding: xchunked"),
      both("chunked in quotes", all + "\r\nTransfer-Encoding: \"chunked\""),
      both("chunked twice", all + "\r\n" + chunked + "\r\n" + chunked),
      both("length on both sides", all + "\r\n" + chunked + "\r\n" + all),
      both("coding on both sides", chunked + "\r\n" + all + "\r\n" + chunked),
      both("wide space", all + "\r\nTransfer-Encoding: \xa0"
                               "chunked"),
      both("vertical tab",
           all + "\r\nTransfer-Encoding: \x0b"
                 "chunked",
           Refusal::field_value),
      both("space before the colon", all + "\r\nTransfer-Encoding : chunked", Refusal::field_name),
      both("length with a space before its colon", "Content-Length : 4\r\n" + chunked, Refusal::field_name),
      both("folded", all + "\r\nTransfer-Encoding:\r\n chunked", Refusal::obs_fold),
      both("bare LF", all + "\nTransfer-Encoding: chunked", Refusal::bare_cr_lf),
      both("bare CR", all + "\rTransfer-Encoding: chunked", Refusal::bare_cr_lf),
  };
}

inline std::vector<Shape> chunk_shapes() {
  std::string const chunked = "Transfer-Encoding: chunked";
  auto const good = [&](std::string const& name, std::string const& body, std::string const& seen = "body") {
    return forwarded("chunks: " + name, post(chunked, body), "POST", "/x", seen);
  };
  auto const bad = [&](std::string const& name, std::string const& body) {
    return cut("chunks: " + name, post(chunked, body + evil_request));
  };
  auto const size = [&](std::string const& name, std::string const& text) {
    return bad("size " + name, text + "\r\nbody\r\n0\r\n\r\n");
  };
  std::string const last = "0\r\n\r\n", one = "4\r\nbody\r\n";
  return {
      good("one", one + last),
      good("of single bytes", "1\r\nb\r\n1\r\no\r\n1\r\nd\r\n1\r\ny\r\n" + last),
      good("none", last, ""),
      good("that hold chunks", "a\r\n0\r\n\r\nGET /\r\n" + last, "0\r\n\r\nGET /"),
      good("zeros before the size", "0004\r\nbody\r\n" + last),
      good("sizes in both cases", "A\r\n0123456789\r\na\r\n0123456789\r\n" + last, "01234567890123456789"),
      good("last of many zeros", one + "00000\r\n\r\n"),
      good("an extension", "4;x\r\nbody\r\n" + last),
      good("extensions with values", "4;a=b;c=\"d\"\r\nbody\r\n" + last),
      good("an extension on the last", one + "0;x=y\r\n\r\n"),
      good("a trailer", one + "0\r\nX: y\r\n\r\n"),
      good("many trailers", one + "0\r\nX: y\r\nCookie: a=b\r\nHost: evil.test\r\n\r\n"),
      size("missing", ""),
      size("of a space", " "),
      size("with a space before", " 4"),
      size("with a tab before", "\t4"),
      size("with a plus", "+4"),
      size("with a minus", "-4"),
      size("in 0x", "0x4"),
      size("with a letter behind", "4h"),
      size("of a letter", "g"),
      size("with a comma", "4,4"),
      size("of two", "4 4"),
      size("with a fraction", "4.0"),
      size("with an underscore", "0_4"),
      size("over 64 bits", "10000000000000004"),
      size("over 64 bits by far", "fffffffffffffffffffffffffffffff4"),
      size("over 64 bits behind zeros", "000000000000000010000000000000004"),
      size("with a vertical tab behind", "4\x0b"),
      size("with a NUL behind", "4\0"s),
      size("with a wide space behind", "4\xa0"),
      bad("size that ends in LF", "4\nbody\r\n" + last),
      bad("size that ends in CR", "4\rbody\r\n" + last),
      bad("size that ends in CR CR LF", "4\r\r\nbody\r\n" + last),
      bad("size that ends in LF CR", "4\n\rbody\r\n" + last),
      bad("extension that ends in LF", "4;x\nbody\r\n" + last),
      bad("extension with a CR inside", "4;a\rb\r\nbody\r\n" + last),
      bad("extension with an LF inside", "4;a\nb\r\nbody\r\n" + last),
      bad("extension with a NUL inside", "4;a\0b\r\nbody\r\n"s + last),
      bad("extension whose quote has no end", "4;a=\"b\r\nbody\r\n" + last),
      bad("extension of 9,000 bytes", "4;" + std::string(9'000, 'a') + "\r\nbody\r\n" + last),
      bad("data longer than its size", "4\r\nbodyevil\r\n" + last),
      bad("data shorter than its size", "8\r\nbody\r\n" + last),
      bad("data without an end of line", "4\r\nbody0\r\n\r\n"),
      bad("data that ends in LF", "4\r\nbody\n" + last),
      bad("data that ends in CR", "4\r\nbody\r" + last),
      bad("data that ends in LF CR", "4\r\nbody\n\r" + last),
      bad("data that ends in two", "4\r\nbody\r\n\r\n" + last),
      bad("data that ends in two bytes of any kind", "4\r\nbodyXY" + last),
      bad("last of minus none", one + "-0\r\n\r\n"),
      bad("last in 0x", one + "0x0\r\n\r\n"),
      bad("last that ends in LF", one + "0\n\n"),
      bad("last that ends in LF, then a line", one + "0\n\r\n"),
      bad("last without its empty line", one + "0\r\n"),
      bad("last with a bare LF for its empty line", one + "0\r\n\n"),
      bad("last with CR CR LF", one + "0\r\n\r\r\n"),
      bad("trailer without a colon", one + "0\r\nno trailer\r\n\r\n"),
      bad("trailer with a space before its colon", one + "0\r\nX : y\r\n\r\n"),
      bad("trailer folded", one + "0\r\nX: y\r\n z\r\n\r\n"),
      bad("trailer that begins with a space", one + "0\r\n X: y\r\n\r\n"),
      bad("trailer that ends in LF", one + "0\r\nX: y\n\r\n"),
      bad("trailer with a CR inside", one + "0\r\nX: y\rZ: z\r\n\r\n"),
      bad("trailer with a NUL inside", one + "0\r\nX: \0\r\n\r\n"s),
      bad("trailer that is a length", one + "0\r\nContent-Length: 4\r\n\r\n"),
      bad("trailer that is a coding", one + "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
      bad("trailer of 9,000 bytes", one + "0\r\nX: " + std::string(9'000, 'y') + "\r\n\r\n"),
  };
}

}  // namespace weir::test
