// Small helpers for writing C++ source text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace homeostat::generator {

// A C++ string literal with the suffix sv, e.g. "spec"sv; `""sv` for no text.
std::string Literal(std::string_view text);

// JSON name to accessor name: clusterIPs → cluster_ips, $ref → ref, x-kubernetes-list-type → x_kubernetes_list_type.
std::string SnakeCase(std::string_view json_name);

// The accessor's name, with an underscore after it where it would be a word of C++.
std::string SafeName(const std::string& name);

std::vector<std::string> Split(std::string_view text, char separator);

// Replaces $1, $2 … by the arguments.
std::string Format(std::string_view pattern, const std::vector<std::string>& arguments);

// A leading comment as one text: lines are joined, empty lines separate paragraphs.
std::string CommentText(const std::string& raw);

}  // namespace homeostat::generator
