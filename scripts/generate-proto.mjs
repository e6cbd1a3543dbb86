// Generates TypeScript from proto/ with buf and ts-proto, both from node_modules: no network, no protoc.
// The outputs are committed; run `npm run proto` after a change in proto/.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const common = {
  env: "node",
  importSuffix: ".ts",
  outputServices: "grpc-js",
  outputClientImpl: false,
  outputJsonMethods: false,
  outputPartialMethods: false,
  // Erasable TypeScript syntax only: no enums.
  enumsAsLiterals: true,
  unrecognizedEnum: false,
  oneof: "unions-value",
};

const outputs = [
  // Revisions fit into a number in practice; reading a larger one throws.
  { proto: "etcd.proto", folder: "src/store/etcd/generated", options: { ...common, forceLong: "number" } },
  // Times of CRI are nanoseconds since the epoch, which a number cannot represent exactly.
  {
    proto: "cri.proto",
    folder: "src/cri/generated",
    options: {
      ...common,
      forceLong: "bigint",
      outputPartialMethods: true,
      outputJsonMethods: true,
      useExactTypes: false,
    },
  },
  // Sizes of blobs fit into a number.
  { proto: "containerd.proto", folder: "src/cri/generated", options: { ...common, forceLong: "number" } },
];

for (const { proto, folder, options } of outputs) {
  const template = {
    version: "v2",
    plugins: [
      {
        local: fileURLToPath(import.meta.resolve("ts-proto/protoc-gen-ts_proto")),
        out: folder,
        opt: Object.entries(options).map(([name, value]) => `${name}=${value}`),
      },
    ],
  };
  const buf = join("node_modules", ".bin", "buf");
  const args = ["generate", "proto", "--path", join("proto", proto), "--template", JSON.stringify(template)];
  execFileSync(buf, args, { stdio: "inherit" });
  console.log(join(folder, proto.replace(/\.proto$/, ".ts")));
}
