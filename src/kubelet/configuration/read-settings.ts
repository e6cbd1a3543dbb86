import { type Features, featureGates } from "../../api/feature-gates.ts";
import { labelValueProblems, qualifiedNameProblems } from "../../api/names.ts";
import type { Node } from "../../api/objects.ts";
import { ipProblems } from "../../api/validation/ip.ts";
import type { Report } from "../../api/validation/report.ts";
import { taintEffects } from "../../api/validation/scheduling.ts";
import { parseGoDuration } from "../../lib/go-duration.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { isNamespaced } from "../pod/forbid-sysctl.ts";
import type { ConfigurationFieldName } from "./configuration-fields.ts";
import type { FieldReader } from "./field-reader.ts";
import { readImagePullProgress } from "./image-pull-progress.ts";

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

/** The settings of a file, with the rules that each has and those between them. Problems go to the report. */
export function readSettings(reader: FieldReader, at: Report) {
  return {
    ...readServer(reader, at),
    ...readNode(reader, at),
    ...readPods(reader, at),
    ...readImages(reader, at),
    featureGates: readFeatureGates(reader, at.child("featureGates")),
  };
}

function readServer(reader: FieldReader, at: Report) {
  const address = reader.text("address");
  at.problems("address", address, ipProblems(address));
  const tlsCertFile = reader.text("tlsCertFile");
  const tlsPrivateKeyFile = reader.text("tlsPrivateKeyFile");
  if (tlsCertFile && !tlsPrivateKeyFile) at.required("tlsPrivateKeyFile", "tlsCertFile needs its key");
  if (tlsPrivateKeyFile && !tlsCertFile)
    at.required("tlsCertFile", "tlsPrivateKeyFile needs its certificate");
  return {
    enableServer: reader.flag("enableServer"),
    address,
    port: reader.integer("port", { min: 0, max: 65_535 }),
    tlsCertFile,
    tlsPrivateKeyFile,
    authentication: {
      anonymous: { enabled: reader.flag("authentication.anonymous.enabled") },
      webhook: { enabled: reader.flag("authentication.webhook.enabled") },
      x509: { clientCAFile: reader.text("authentication.x509.clientCAFile") },
    },
    authorization: { mode: reader.oneOf("authorization.mode", ["Webhook", "AlwaysAllow"]) },
  };
}

/** Zeros are what other tools write for fields that nobody has set. */
const positive = { min: 1, zeroIsDefault: true } as const;

function readNode(reader: FieldReader, at: Report) {
  const update = reader.durationMs("nodeStatusUpdateFrequency", positive);
  const report = reader.durationMs("nodeStatusReportFrequency", positive);
  const isGiven = (name: ConfigurationFieldName) =>
    reader.isSet(name) && parseGoDuration(String(reader.raw(name))) !== 0;
  // As upstream: whoever sets only how often the status is computed means how often it is written too.
  const follows = isGiven("nodeStatusUpdateFrequency") && !isGiven("nodeStatusReportFrequency");
  return {
    nodeStatusUpdateFrequencyMs: update,
    nodeStatusReportFrequencyMs: follows ? update : report,
    nodeLeaseDurationSeconds: reader.integer("nodeLeaseDurationSeconds", positive),
    registerNode: reader.flag("registerNode"),
    registerWithTaints: readTaints(reader, at),
    nodeLabels: readLabels(reader, at.child("nodeLabels")),
    maxPods: reader.integer("maxPods", positive),
    cgroupDriver: reader.oneOf("cgroupDriver", ["cgroupfs", "systemd"]),
    cgroupRoot: readCgroupRoot(reader, at),
    cgroupsPerQOS: reader.flag("cgroupsPerQOS"),
    cpuCFSQuota: reader.flag("cpuCFSQuota"),
    ...readShutdown(reader, at),
  };
}

function readCgroupRoot(reader: FieldReader, at: Report): string {
  const root = reader.text("cgroupRoot");
  if (root && (!root.startsWith("/") || root.split("/").includes(".."))) {
    at.invalid("cgroupRoot", root, "must be empty or the absolute path of a cgroup, without ..");
  }
  return root;
}

function readShutdown(reader: FieldReader, at: Report) {
  const read = (name: "shutdownGracePeriod" | "shutdownGracePeriodCriticalPods") => {
    const ms = reader.durationMs(name, { min: 0 });
    if (ms > 0 && ms < 1_000) at.invalid(name, reader.raw(name), "must be 0s or at least 1s");
    return ms;
  };
  const all = read("shutdownGracePeriod");
  const critical = read("shutdownGracePeriodCriticalPods");
  if (critical > all) {
    const field = "shutdownGracePeriodCriticalPods";
    at.invalid(
      field,
      reader.raw(field),
      "must not be longer than shutdownGracePeriod, which it is a part of",
    );
  }
  return { shutdownGracePeriodMs: all, shutdownGracePeriodCriticalPodsMs: critical };
}

function readPods(reader: FieldReader, at: Report) {
  const clusterDNS = reader.texts("clusterDNS");
  for (const [i, ip] of clusterDNS.entries()) at.problems(`clusterDNS[${i}]`, ip, ipProblems(ip));
  const allowedUnsafeSysctls = reader.texts("allowedUnsafeSysctls");
  for (const [i, pattern] of allowedUnsafeSysctls.entries()) {
    if (!isNamespaced(pattern))
      at.invalid(`allowedUnsafeSysctls[${i}]`, pattern, "is not known to be of a pod's own namespaces");
  }
  return {
    allowedUnsafeSysctls,
    seccompDefault: reader.flag("seccompDefault"),
    staticPodPath: reader.text("staticPodPath"),
    syncFrequencyMs: reader.durationMs("syncFrequency", positive),
    clusterDNS,
    clusterDomain: reader.text("clusterDomain"),
    resolvConf: reader.text("resolvConf"),
    containerLogMaxSizeBytes: reader.bytes("containerLogMaxSize", { min: 1 }),
    containerLogMaxFiles: reader.integer("containerLogMaxFiles", { min: 2 }),
    crashLoopBackOff: {
      maxContainerRestartPeriodMs: reader.durationMs("crashLoopBackOff.maxContainerRestartPeriod", {
        min: 1_000,
        max: 300_000,
      }),
    },
  };
}

function readImages(reader: FieldReader, at: Report) {
  const serializeImagePulls = reader.flag("serializeImagePulls");
  const maxParallelImagePulls = reader.isSet("maxParallelImagePulls")
    ? reader.integer("maxParallelImagePulls", { min: 1 })
    : undefined;
  if (serializeImagePulls && maxParallelImagePulls !== undefined && maxParallelImagePulls > 1) {
    at.invalid(
      "maxParallelImagePulls",
      maxParallelImagePulls,
      "must be 1 or left out unless serializeImagePulls is false",
    );
  }
  return {
    serializeImagePulls,
    ...(maxParallelImagePulls !== undefined && { maxParallelImagePulls }),
    imagePullProgress: readImagePullProgress(reader, at),
    noProgressTimeoutSeconds: reader.integer("noProgressTimeout", { min: 0, max: 2 ** 32 - 1 }),
  };
}

function readTaints(reader: FieldReader, at: Report): readonly Taint[] {
  const items = reader.raw("registerWithTaints");
  if (!Array.isArray(items)) {
    at.invalid("registerWithTaints", items, "must be a list of taints: key, value, effect");
    return [];
  }
  const taints: Taint[] = [];
  at.each("registerWithTaints", items, (item: unknown, place) => {
    const { key, value = "", effect, ...rest } = isMapping(item) ? item : {};
    if (typeof key !== "string" || typeof value !== "string" || typeof effect !== "string") {
      place.invalid("", item, "must have a key, an effect and, where wanted, a value, all of them texts");
      return;
    }
    for (const name of Object.keys(rest)) place.forbidden(name, "unknown field");
    place.problems("key", key, qualifiedNameProblems(key));
    place.problems("value", value, labelValueProblems(value));
    place.requiredOneOf("effect", effect, taintEffects);
    taints.push(value === "" ? { key, effect } : { key, value, effect });
  });
  return taints;
}

function readLabels(reader: FieldReader, at: Report): Readonly<Record<string, string>> {
  const labels: [string, string][] = [];
  for (const [key, value] of Object.entries(reader.mapping("nodeLabels"))) {
    at.problems("", key, qualifiedNameProblems(key));
    if (typeof value !== "string") at.invalid(key, value, "must be a text; put it in quotes");
    else {
      at.problems(key, value, labelValueProblems(value));
      labels.push([key, value]);
    }
  }
  return Object.fromEntries(labels);
}

function readFeatureGates(reader: FieldReader, at: Report): Readonly<Partial<Features>> {
  const set: { -readonly [Name in keyof Features]?: boolean } = {};
  for (const [name, value] of Object.entries(reader.mapping("featureGates"))) {
    const gate = featureGates.find((gate) => gate.name === name || ("alias" in gate && gate.alias === name));
    if (!gate)
      at.notSupported(
        name,
        name,
        featureGates.map((known) => known.name),
      );
    else if (typeof value !== "boolean") at.invalid(name, value, "must be true or false");
    else set[gate.name] = value;
  }
  return set;
}
