// Writes the constant tables of one file: schema::Type, schema::Field, schema::Kind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model.h"

namespace homeostat::generator {

class TableWriter {
 public:
  TableWriter(const Model& model, const File& file) : model_(model), file_(file) {}
  // The text of the .cc file.
  std::string Write();

 private:
  void WriteMessage(const Message& message);
  void WriteKind(const Message& message);
  void WriteColumns(const Message& message);
  void WriteSubresources(const Message& message);
  std::string FieldText(const Field& field);
  std::string FlagsText(const Field& field) const;
  std::string OpenApiDefault(const Field& field) const;

  // Each gives an expression for the address of a type, making a constant for it where there is none yet.
  std::string FieldType(const Field& field);
  std::string ElementType(const Field& field);
  std::string GranularStruct(const Message& message);
  std::string Anonymous(const std::string& initializer);

  std::string ConstraintsOf(const Field& field);
  std::string ListConstraintsOf(const Field& field);
  std::string ConstraintsText(const std::string& initializer);
  // The name of a constant array of strings; "{}" for none.
  std::string Strings(const std::vector<std::string>& values);
  // Texts for people stand in one array, apart from the names: their pages are read only when someone asks for them.
  template <class Out>
  void AddDocumentation(Out& out, const std::string& name, const std::string& text);

  const Model& model_;
  const File& file_;
  std::string texts_, arrays_, constraints_, types_, fields_, definitions_;
  size_t texts_length_ = 0;
  std::map<std::string, size_t> text_offsets_;
  std::map<std::string, std::string> string_arrays_, anonymous_, constraint_names_;
};

}  // namespace homeostat::generator
