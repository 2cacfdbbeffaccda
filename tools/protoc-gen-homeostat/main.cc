// protoc-gen-homeostat: turns api/<group>/<version>.proto into constant tables, typed views and builders.
#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/compiler/plugin.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <memory>

#include "model.h"
#include "registry.h"
#include "tables.h"
#include "views.h"

namespace homeostat::generator {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::compiler::GeneratorContext;

class Generator : public google::protobuf::compiler::CodeGenerator {
 public:
  bool Generate(const FileDescriptor* /*file*/, const std::string& /*parameter*/, GeneratorContext* /*context*/,
                std::string* error) const override {
    *error = "all files must be given at once";
    return false;
  }

  bool GenerateAll(const std::vector<const FileDescriptor*>& files, const std::string& /*parameter*/, GeneratorContext* context,
                   std::string* error) const override {
    try {
      Model model(files);
      for (const auto& file : model.files()) {
        Write(*context, file->base + ".h", WriteViews(model, *file));
        Write(*context, file->base + "_builders.h", WriteBuilders(model, *file));
        Write(*context, file->base + ".cc", TableWriter(model, *file).Write());
      }
      Write(*context, "homeostat/api/registry.cc", WriteRegistry(model));
    } catch (const SchemaError& fault) {
      *error = fault.what();
      return false;
    }
    return true;
  }

 private:
  static void Write(GeneratorContext& context, const std::string& name, const std::string& text) {
    std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> stream(context.Open(name));
    google::protobuf::io::CodedOutputStream(stream.get()).WriteString(text);
  }
};

}  // namespace
}  // namespace homeostat::generator

int main(int argc, char** argv) {
  homeostat::generator::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
