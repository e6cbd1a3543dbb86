// Which folder of src/ may import which. A folder may always import itself.
// The three contracts show here: only the API server sees the store, only the client sees the API server's wire,
// and the kubelet knows runtimes by CRI alone.
const mayImport = {
  lib: [],
  api: ["lib"],
  store: ["lib"],
  apiserver: ["store", "api", "lib"],
  client: ["api", "lib"],
  controllers: ["client", "api", "lib"],
  scheduler: ["client", "api", "lib"],
  cri: ["lib"],
  kubelet: ["cri", "client", "api", "lib"],
  runtime: ["cri", "lib"],
  simulated: ["cri", "lib"],
  // The monitor keeps first-seen times in the embedded store.
  monitor: ["client", "store", "api", "lib"],
  // Brings up clusters of its own and shows what they do.
  tour: ["cluster", "client", "runtime", "monitor", "api", "lib"],
  // What users import: clusters for their tests.
  testing: ["cluster", "simulated", "client", "monitor", "api", "lib"],
  // The composition root: the only folder that knows every part.
  cluster: [
    "apiserver",
    "store",
    "client",
    "controllers",
    "scheduler",
    "kubelet",
    "cri",
    "runtime",
    "simulated",
    "monitor",
    "api",
    "lib",
  ],
};

const layerRules = Object.entries(mayImport).map(([layer, allowed]) => ({
  name: `layer-${layer}`,
  comment: `src/${layer} may import only itself${allowed.map((name) => `, src/${name}`).join("")}`,
  severity: "error",
  from: { path: `^src/${layer}/` },
  to: { path: "^src/", pathNot: [layer, ...allowed].map((name) => `^src/${name}/`) },
}));

export default {
  forbidden: [
    ...layerRules,
    {
      name: "cli-is-the-top",
      comment: "nothing but the command line imports the command line",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/cli/" },
      to: { path: "^src/cli/" },
    },
    {
      name: "unknown-folder",
      comment: "a new folder of src/ needs a row in mayImport",
      severity: "error",
      from: {
        path: "^src/",
        pathNot: [...Object.keys(mayImport), "cli"].map((name) => `^src/${name}/`),
      },
      to: {},
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "tests-are-leaves",
      severity: "error",
      from: { pathNot: "\\.test\\.ts$" },
      to: { path: "\\.test\\.ts$" },
    },
  ],
  options: {
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      extensions: [".ts", ".js", ".mjs", ".json"],
      conditionNames: ["import", "node", "default"],
    },
  },
};
