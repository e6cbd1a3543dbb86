// Which folder of src/ may import which. A folder may always import itself.
// The three contracts show here: only the API server sees the store, only the client sees the API server's wire,
// and the kubelet knows runtimes by CRI alone.
const mayImport = {
  lib: [],
  api: ["lib"],
  // Why a pod or workload is where it is: pure, so that controllers, kubelet, monitor and command line can share it.
  explain: ["api", "lib"],
  store: ["lib"],
  apiserver: ["store", "api", "lib"],
  client: ["api", "lib"],
  controllers: ["explain", "client", "api", "lib"],
  scheduler: ["client", "api", "lib"],
  // Runs against any cluster: makes its services reachable on this machine.
  proxy: ["client", "api", "lib"],
  // Filters the connections of this machine's pods by the policies of their cluster.
  "network-policy": ["client", "api", "lib"],
  // Names of services and pods, for pods and for other clusters.
  dns: ["client", "api", "lib"],
  cri: ["lib"],
  // Progress of image pulls, beside any kubelet and inside ours.
  "node-agent": ["cri", "client", "api", "lib"],
  kubelet: ["node-agent", "explain", "cri", "client", "api", "lib"],
  runtime: ["cri", "lib"],
  simulated: ["cri", "lib"],
  // The monitor keeps first-seen times in the embedded store.
  monitor: ["explain", "client", "store", "api", "lib"],
  // Runs against any cluster: continues rollouts that are stuck.
  recover: ["explain", "client", "api", "lib"],
  // Runs against any cluster: writes FailingToStart for kubelets that do not.
  conditions: ["explain", "client", "api", "lib"],
  // Starts its own clusters and shows what they do.
  tour: ["cluster", "client", "runtime", "monitor", "explain", "api", "lib"],
  // What users import: clusters for their tests.
  testing: ["cluster", "simulated", "client", "monitor", "explain", "api", "lib"],
  // The composition root: the only folder that knows every part.
  cluster: [
    "apiserver",
    "store",
    "client",
    "controllers",
    "scheduler",
    "dns",
    "kubelet",
    "node-agent",
    "cri",
    "runtime",
    "simulated",
    "monitor",
    "proxy",
    "network-policy",
    "explain",
    "api",
    "lib",
  ],
};

// The import order inside each folder: a sub-folder imports itself and the sub-folders before it, type imports
// included. The root of a folder holds its composition file and comes last, unless "." says where it stands.
const subfolderOrder = {
  lib: [".", "process", "nftables", "fs", "image", "metrics", "http", "cgroup", "x509"],
  api: ["generated", "meta", "schema", "cel", "patch", "pod", "quota", "custom", "kinds"],
  store: [".", "contract", "local", "lmdb", "etcd"],
  apiserver: [
    "limits",
    "kinds",
    "storage",
    "request",
    "outgoing",
    "auth",
    "admission",
    "handlers",
    "custom-resources",
    "bootstrap",
    "server",
  ],
  client: [
    "kubeconfig",
    "transport",
    "api",
    "informers",
    "queue",
    "events",
    "leader-election",
    "delegated-auth",
  ],
  controllers: [
    "shared",
    "service-pods",
    "cron-job",
    "daemon-set",
    "deployment",
    "disruption",
    "endpoint-slice",
    "endpoint-slice-mirroring",
    "endpoints",
    "garbage-collector",
    "job",
    "namespace",
    "node-lifecycle",
    "persistent-volume",
    "pod-gc",
    "replica-set",
    "resource-quota",
    "service-account",
    "stateful-set",
    "ttl-after-finished",
  ],
  scheduler: ["model", "volumes", "filters", "scores", "queue", "cycle"],
  proxy: ["model", "nftables", "userspace", "health", "load-balancer"],
  "network-policy": ["compile", "nftables"],
  dns: ["records", "wire", "forward", "server"],
  cri: ["generated", "."],
  "node-agent": ["publish", "containerd", "pods", "server"],
  kubelet: [
    "model",
    "config",
    "ownership",
    "node",
    "cgroups",
    "images",
    "volumes",
    "containers",
    "status",
    "probes",
    "pods",
    "server",
  ],
  runtime: [
    "errors",
    "content",
    "snapshots",
    "registry",
    "images",
    "drivers",
    "networks",
    "state",
    "sandboxes",
    "containers",
    "streaming",
    "cri",
  ],
  simulated: ["scripts", "model", "calls"],
  monitor: [
    "external-cluster",
    "measure",
    "tracking",
    "metrics",
    "feed",
    "slo",
    "otlp",
    "configuration",
    "report",
    "server",
  ],
  cluster: ["data-dir", "host", "parts", "lifecycle"],
  tour: ["model", "steps"],
  cli: ["options", "printer", "run", "completion", "commands"],
};

const layerRules = Object.entries(mayImport).map(([layer, allowed]) => ({
  name: `layer-${layer}`,
  comment: `src/${layer} may import only itself${allowed.map((name) => `, src/${name}`).join("")}`,
  severity: "error",
  from: { path: `^src/${layer}/` },
  to: { path: "^src/", pathNot: [layer, ...allowed].map((name) => `^src/${name}/`) },
}));

const orderRules = Object.entries(subfolderOrder).flatMap(([folder, order]) => {
  const files = (name) => (name === "." ? `^src/${folder}/[^/]+$` : `^src/${folder}/${name}/`);
  return [
    ...order.map((name, i) => ({
      name: `order-${folder}-${name}`,
      comment: `src/${folder}/${name} imports only what comes before it: ${order.slice(0, i).join(", ")}`,
      severity: "error",
      // Tests, their fixtures and contract suites may import any part.
      from: { path: files(name), pathNot: "\\.(test|fixture|contract)\\.ts$" },
      to: { path: `^src/${folder}/`, pathNot: order.slice(0, i + 1).map(files) },
    })),
    {
      name: `order-${folder}-unknown`,
      comment: `a new sub-folder of src/${folder} needs a place in subfolderOrder`,
      severity: "error",
      from: { path: `^src/${folder}/[^/]+/`, pathNot: order.map(files) },
      to: {},
    },
  ];
});

export default {
  forbidden: [
    ...layerRules,
    ...orderRules,
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
