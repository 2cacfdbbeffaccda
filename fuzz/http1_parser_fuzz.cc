// HTTP/1.1 messages: no input crashes the parser, and how the bytes are split changes nothing of what is read.
#include <cstdlib>
#include <optional>

#include "http/internal/parser.h"

namespace {

using namespace homeostat::http::internal;

struct Read {
  int error = 0;
  std::string head;  // method, path, query and fields, one a line
  std::string body;
  bool done = false;
  bool operator==(const Read&) const = default;
};

std::string Describe(const homeostat::http::Request& request) {
  std::string text = request.method + "\n" + request.path + "\n" + request.query + "\n";
  for (const auto& [name, value] : request.headers.lines()) text += name + ":" + value + "\n";
  return text;
}

// Reads one request from pieces of the given size.
Read ReadRequest(std::string_view input, size_t piece) {
  Read read;
  std::string buffer;
  HeadScanner scanner(64 * 1024);
  std::optional<BodyDecoder> decoder;
  while (!input.empty() && !read.done) {
    buffer += input.substr(0, piece);
    input.remove_prefix(std::min(piece, input.size()));
    if (!decoder) {
      auto size = scanner.Scan(buffer);
      if (!size) return {size.error().code};
      if (*size == 0) continue;
      auto head = ParseRequestHead(std::string_view(buffer).substr(0, *size));
      if (!head) return {head.error().code};
      read.head = Describe(head->request);
      decoder.emplace(head->framing);
      buffer.erase(0, *size);
    }
    while (true) {
      auto step = decoder->Next(buffer);
      if (!step) return {step.error().code, read.head, read.body};
      read.body += step->content;
      buffer.erase(0, step->consumed);
      read.done = step->done;
      if (step->done || step->consumed == 0) break;
    }
  }
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size > 32 * 1024) return 0;
  Read whole = ReadRequest(input, input.size() + 1);
  if (!(whole == ReadRequest(input, 1))) std::abort();
  if (!(whole == ReadRequest(input, 7))) std::abort();
  auto response = ParseResponseHead(input, "GET");
  if (response && (response->code < 100 || response->code > 999)) std::abort();
  return 0;
}
