export interface ConfigurationField {
  /** As in the file, from its top: `authentication.x509.clientCAFile`. */
  readonly name: string;
  readonly type:
    | "boolean"
    | "integer"
    | "string"
    | "duration"
    | "quantity"
    | "list of strings"
    | "list of taints"
    | "map of booleans"
    | "map of strings";
  /** As one would write it in the file; left out where the field then means nothing. */
  readonly default?: unknown;
  readonly meaning: string;
}

/** Every field of the kubelet's configuration file: what is read, what defaults it has, and what the docs say of it. */
export const configurationFields = [
  {
    name: "enableServer",
    type: "boolean",
    default: true,
    meaning: "Serve logs, exec, attach, pods and metrics over HTTPS.",
  },
  {
    name: "address",
    type: "string",
    default: "0.0.0.0",
    meaning: "The IP address that the server listens on.",
  },
  {
    name: "port",
    type: "integer",
    default: 10_250,
    meaning: "The port that the server listens on; 0 takes any that is free.",
  },
  {
    name: "tlsCertFile",
    type: "string",
    default: "",
    meaning: "The server's certificate (PEM, chain included). Made by the kubelet when empty.",
  },
  {
    name: "tlsPrivateKeyFile",
    type: "string",
    default: "",
    meaning: "The key of tlsCertFile (PEM).",
  },
  {
    name: "authentication.anonymous.enabled",
    type: "boolean",
    default: false,
    meaning: "Let requests without credentials through as system:anonymous.",
  },
  {
    name: "authentication.webhook.enabled",
    type: "boolean",
    default: true,
    meaning: "Ask the API server whose bearer token it is (TokenReview).",
  },
  {
    name: "authentication.x509.clientCAFile",
    type: "string",
    default: "",
    meaning: "Accept client certificates that this CA has signed.",
  },
  {
    name: "authorization.mode",
    type: "string",
    default: "Webhook",
    meaning: "Webhook asks the API server (SubjectAccessReview); AlwaysAllow asks nobody.",
  },
  {
    name: "staticPodPath",
    type: "string",
    default: "",
    meaning: "A directory of manifests of pods to run without an API server.",
  },
  {
    name: "syncFrequency",
    type: "duration",
    default: "1m0s",
    meaning: "How often each pod is looked at when nothing happens; what does happen is noticed at once.",
  },
  {
    name: "nodeStatusUpdateFrequency",
    type: "duration",
    default: "10s",
    meaning: "How often the node's status is computed.",
  },
  {
    name: "nodeStatusReportFrequency",
    type: "duration",
    default: "5m0s",
    meaning:
      "How often the node's status is written when it has not changed. Follows nodeStatusUpdateFrequency where only that is set.",
  },
  {
    name: "nodeLeaseDurationSeconds",
    type: "integer",
    default: 40,
    meaning: "How long the node's lease is good for; it is renewed each quarter of that.",
  },
  {
    name: "registerNode",
    type: "boolean",
    default: true,
    meaning: "Create the node's object in the API.",
  },
  {
    name: "registerWithTaints",
    type: "list of taints",
    default: [],
    meaning: "Taints that the node registers with: key, value, effect.",
  },
  {
    name: "nodeLabels",
    type: "map of strings",
    default: {},
    meaning: "Labels that the node registers with. Upstream has them as the flag --node-labels only.",
  },
  { name: "maxPods", type: "integer", default: 110, meaning: "How many pods the node takes." },
  {
    name: "clusterDNS",
    type: "list of strings",
    default: [],
    meaning: "IP addresses of the cluster's DNS servers, for pods with dnsPolicy ClusterFirst.",
  },
  {
    name: "clusterDomain",
    type: "string",
    default: "",
    meaning: "The cluster's DNS domain, searched by pods with dnsPolicy ClusterFirst.",
  },
  {
    name: "resolvConf",
    type: "string",
    default: "/etc/resolv.conf",
    meaning: "The resolver configuration that pods with dnsPolicy Default get; empty for none.",
  },
  {
    name: "cgroupDriver",
    type: "string",
    default: "cgroupfs",
    meaning: "Who makes cgroups, cgroupfs or systemd. A runtime that says which one it uses wins.",
  },
  {
    name: "cgroupRoot",
    type: "string",
    default: "",
    meaning:
      "The cgroup below which pods get theirs, as kubepods; one of this kubelet's own below /kindling when empty, for an upstream kubelet on the same machine removes what it does not know below /kubepods.",
  },
  {
    name: "cgroupsPerQOS",
    type: "boolean",
    default: true,
    meaning:
      "Give each pod a cgroup with its limits, below that of its class of service. Off, or where cgroups cannot be written, containers are where the runtime puts them.",
  },
  {
    name: "cpuCFSQuota",
    type: "boolean",
    default: true,
    meaning: "Enforce CPU limits of containers and pods.",
  },
  {
    name: "seccompDefault",
    type: "boolean",
    default: false,
    meaning: "Give containers that name no seccomp profile the runtime's default one.",
  },
  {
    name: "containerLogMaxSize",
    type: "quantity",
    default: "10Mi",
    meaning: "A container's log is rotated when it gets larger than this.",
  },
  {
    name: "containerLogMaxFiles",
    type: "integer",
    default: 5,
    meaning: "How many log files a container may have, the current one included; at least 2.",
  },
  {
    name: "crashLoopBackOff.maxContainerRestartPeriod",
    type: "duration",
    default: "5m0s",
    meaning: "The longest wait before a crashing container is started again; from 1s to 300s.",
  },
  {
    name: "shutdownGracePeriod",
    type: "duration",
    default: "0s",
    meaning: "How long the node's shutdown is held up for pods to end; 0s: not at all.",
  },
  {
    name: "shutdownGracePeriodCriticalPods",
    type: "duration",
    default: "0s",
    meaning: "The last part of shutdownGracePeriod, kept for critical pods.",
  },
  {
    name: "serializeImagePulls",
    type: "boolean",
    default: false,
    meaning:
      "Pull one image at a time. Upstream does so unless maxParallelImagePulls is set; here not, since one blocked registry would hold up every pod of the node.",
  },
  {
    name: "allowedUnsafeSysctls",
    type: "list of strings",
    default: [],
    meaning:
      "Kernel settings that pods may set beside the safe ones, for example net.core.somaxconn or kernel.msg*: only those of a pod's own namespaces.",
  },
  {
    name: "maxParallelImagePulls",
    type: "integer",
    meaning: "How many images are pulled at a time; no limit when left out.",
  },
  {
    name: "imagePullProgressType",
    type: "string",
    default: "time",
    meaning:
      "KEP-3542: what imagePullProgressInterval counts: time (seconds), size (bytes), or none for no progress events.",
  },
  {
    name: "imagePullProgressInterval",
    type: "quantity",
    meaning:
      "KEP-3542: how often a pod's events tell how far a pull is. By time at least 10 seconds (30 when left out), by size at least 1Gi (1Gi when left out).",
  },
  {
    name: "noProgressTimeout",
    type: "integer",
    default: 10,
    meaning:
      "KEP-3542: a pull that has not got one byte for so many seconds fails; 0: never. Up to 4294967295.",
  },
  {
    name: "featureGates",
    type: "map of booleans",
    default: {},
    meaning: "Feature gates by name; `kindling features` lists them. --feature-gates wins.",
  },
] as const satisfies readonly ConfigurationField[];

export type ConfigurationFieldName = (typeof configurationFields)[number]["name"];
