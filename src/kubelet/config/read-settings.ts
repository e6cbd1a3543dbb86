// Clauses: 3542-5
import { type Features, featureGates } from "../../api/meta/feature-gates.ts";
import type { FieldErrors } from "../../api/meta/field-errors.ts";
import { labelValueProblems, qualifiedNameProblems } from "../../api/meta/names.ts";
import type { Node } from "../../api/meta/objects.ts";
import { ipProblems } from "../../api/meta/validate-ip.ts";
import { taintEffects } from "../../api/pod/validation/scheduling.ts";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import { parseGoDuration } from "../../lib/go-duration.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { ConfigurationFieldName } from "./configuration-fields.ts";
import { type FieldReader, quantityUnits } from "./field-reader.ts";
import { isNamespaced } from "./forbid-sysctl.ts";

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

/** Reads and validates all settings of a file. Problems are added to `at`. */
export function readSettings(reader: FieldReader, at: FieldErrors) {
  return {
    ...readServer(reader, at),
    ...readNode(reader, at),
    ...readPods(reader, at),
    ...readImages(reader, at),
    featureGates: readFeatureGates(reader, at.child("featureGates")),
  };
}

function readServer(reader: FieldReader, at: FieldErrors) {
  const address = reader.text("address");
  at.problems("address", address, ipProblems(address));
  const tlsCertFile = reader.text("tlsCertFile");
  const tlsPrivateKeyFile = reader.text("tlsPrivateKeyFile");
  if (tlsCertFile && !tlsPrivateKeyFile)
    at.required("tlsPrivateKeyFile", "tlsCertFile requires a private key");
  if (tlsPrivateKeyFile && !tlsCertFile)
    at.required("tlsCertFile", "tlsPrivateKeyFile requires a certificate");
  return {
    enableServer: reader.flag("enableServer"),
    enableSystemLogHandler: reader.flag("enableSystemLogHandler"),
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

/** Other tools write zeros for fields that are not set. */
const positive = { min: 1, zeroIsDefault: true } as const;

function readNode(reader: FieldReader, at: FieldErrors) {
  const update = reader.durationMs("nodeStatusUpdateFrequency", positive);
  const report = reader.durationMs("nodeStatusReportFrequency", positive);
  const isGiven = (name: ConfigurationFieldName) =>
    reader.isSet(name) && parseGoDuration(String(reader.raw(name))) !== 0;
  // As upstream, nodeStatusReportFrequency follows nodeStatusUpdateFrequency when only the latter is set.
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

function readCgroupRoot(reader: FieldReader, at: FieldErrors): string {
  const root = reader.text("cgroupRoot");
  if (root && (!root.startsWith("/") || root.split("/").includes(".."))) {
    at.invalid("cgroupRoot", root, "must be empty or the absolute path of a cgroup, without ..");
  }
  return root;
}

function readShutdown(reader: FieldReader, at: FieldErrors) {
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

function readPods(reader: FieldReader, at: FieldErrors) {
  const clusterDNS = reader.texts("clusterDNS");
  for (const [i, ip] of clusterDNS.entries()) at.problems(`clusterDNS[${i}]`, ip, ipProblems(ip));
  const allowedUnsafeSysctls = reader.texts("allowedUnsafeSysctls");
  for (const [i, pattern] of allowedUnsafeSysctls.entries()) {
    if (!isNamespaced(pattern))
      at.invalid(`allowedUnsafeSysctls[${i}]`, pattern, "is not a namespaced sysctl");
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

function readImages(reader: FieldReader, at: FieldErrors) {
  const serializeImagePulls = reader.flag("serializeImagePulls");
  const maxParallelImagePulls = reader.isSet("maxParallelImagePulls")
    ? reader.integer("maxParallelImagePulls", { min: 1 })
    : undefined;
  if (serializeImagePulls && maxParallelImagePulls !== undefined && maxParallelImagePulls > 1) {
    at.invalid(
      "maxParallelImagePulls",
      maxParallelImagePulls,
      "must be 1 or unset unless serializeImagePulls is false",
    );
  }
  return {
    serializeImagePulls,
    ...(maxParallelImagePulls !== undefined && { maxParallelImagePulls }),
    imagePullProgress: readImagePullProgress(reader, at),
    noProgressTimeoutSeconds: reader.integer("noProgressTimeout", { min: 0, max: 2 ** 32 - 1 }),
  };
}

function readTaints(reader: FieldReader, at: FieldErrors): readonly Taint[] {
  const items = reader.raw("registerWithTaints");
  if (!Array.isArray(items)) {
    at.invalid("registerWithTaints", items, "must be a list of taints: key, value, effect");
    return [];
  }
  const taints: Taint[] = [];
  at.each("registerWithTaints", items, (item: unknown, place) => {
    const { key, value = "", effect, ...rest } = isMapping(item) ? item : {};
    if (typeof key !== "string" || typeof value !== "string" || typeof effect !== "string") {
      place.invalid("", item, "must have a key, an effect and an optional value, all of them strings");
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

function readLabels(reader: FieldReader, at: FieldErrors): Readonly<Record<string, string>> {
  const labels: [string, string][] = [];
  for (const [key, value] of Object.entries(reader.mapping("nodeLabels"))) {
    at.problems("", key, qualifiedNameProblems(key));
    if (typeof value !== "string") at.invalid(key, value, "must be a string; put it in quotes");
    else {
      at.problems(key, value, labelValueProblems(value));
      labels.push([key, value]);
    }
  }
  return Object.fromEntries(labels);
}

function readFeatureGates(reader: FieldReader, at: FieldErrors): Readonly<Partial<Features>> {
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

const field = "imagePullProgressInterval";
/** Rules by `imagePullProgressType`. The proposal's default of 30 is in seconds. */
const rules = {
  time: { min: 10, default: 30, unit: "a number of seconds such as 30", least: "10 seconds" },
  size: { min: 2 ** 30, default: 2 ** 30, unit: "an amount of bytes such as 1Gi", least: "1Gi" },
} as const;

function readImagePullProgress(reader: FieldReader, at: FieldErrors): ReportGranularity {
  const kind = reader.oneOf("imagePullProgressType", ["none", "size", "time"]);
  if (kind === "none") {
    if (reader.isSet(field) && quantityUnits(reader.raw(field)) === undefined)
      at.invalid(field, reader.raw(field), "must be a number of seconds or an amount of bytes");
    return { kind };
  }
  const interval = readInterval(kind, reader, at);
  return kind === "time" ? { kind, intervalMs: interval * 1_000 } : { kind, intervalBytes: interval };
}

function readInterval(kind: "time" | "size", reader: FieldReader, at: FieldErrors): number {
  const rule = rules[kind];
  if (!reader.isSet(field)) return rule.default;
  const value = reader.raw(field);
  const interval = quantityUnits(value);
  if (interval === undefined) at.invalid(field, value, `must be ${rule.unit}`);
  else if (kind === "time" && !/^[+-]?\d+$/.test(String(value)))
    at.invalid(
      field,
      value,
      `must be ${rule.unit} where imagePullProgressType is time; an amount of bytes needs imagePullProgressType: size`,
    );
  else if (interval < rule.min)
    at.invalid(field, value, `must be at least ${rule.least} where imagePullProgressType is ${kind}`);
  else if (interval > Number.MAX_SAFE_INTEGER) at.invalid(field, value, "is too large");
  return interval ?? rule.default;
}
