// Clauses: 950-7
import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { httpHeaderNameProblems, portNameProblems, portNumberProblems } from "../../meta/names.ts";
import type { Container, Probe } from "../../meta/objects.ts";

export function validateProbes(container: Container, at: FieldErrors): void {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe) validateKillingProbe(livenessProbe, at.child("livenessProbe"));
  if (readinessProbe) validateReadinessProbe(readinessProbe, at.child("readinessProbe"));
  if (startupProbe) validateKillingProbe(startupProbe, at.child("startupProbe"));
}

/** Validates a liveness or startup probe, whose success threshold must be 1. */
function validateKillingProbe(probe: Probe, at: FieldErrors): void {
  validateProbe(probe, at);
  if (probe.successThreshold !== 1) at.invalid("successThreshold", probe.successThreshold ?? 0, "must be 1");
}

/** Validates a readiness probe, which has no grace period because it does not stop containers. */
function validateReadinessProbe(probe: Probe, at: FieldErrors): void {
  validateProbe(probe, at);
  const seconds = probe.terminationGracePeriodSeconds;
  if (seconds !== undefined) {
    at.invalid("terminationGracePeriodSeconds", seconds, "must not be set for readinessProbes");
  }
}

function validateProbe(probe: Probe, at: FieldErrors): void {
  validateHandler(probe, at);
  at.nonNegative("initialDelaySeconds", probe.initialDelaySeconds);
  at.nonNegative("timeoutSeconds", probe.timeoutSeconds);
  at.nonNegative("periodSeconds", probe.periodSeconds);
  at.nonNegative("successThreshold", probe.successThreshold);
  at.nonNegative("failureThreshold", probe.failureThreshold);
  const seconds = probe.terminationGracePeriodSeconds;
  if (seconds !== undefined && seconds <= 0) {
    at.invalid("terminationGracePeriodSeconds", seconds, "must be greater than 0");
  }
}

export function validateLifecycle(
  { postStart, preStop, stopSignal }: k8s.V1Lifecycle,
  at: FieldErrors,
  pod: { readonly gracePeriodSeconds: number; readonly os: string | undefined },
): void {
  if (postStart) validateHandler(postStart, at.child("postStart"), pod.gracePeriodSeconds);
  if (preStop) validateHandler(preStop, at.child("preStop"), pod.gracePeriodSeconds);
  if (stopSignal === undefined) return;
  if (!pod.os) at.forbidden("stopSignal", "may not be set for containers with empty `spec.os.name`");
  else at.oneOf("stopSignal", stopSignal, pod.os === "windows" ? windowsSignals : linuxSignals);
}

interface Handler {
  readonly exec?: k8s.V1ExecAction;
  readonly httpGet?: k8s.V1HTTPGetAction;
  readonly tcpSocket?: k8s.V1TCPSocketAction;
  readonly grpc?: k8s.V1GRPCAction;
  readonly sleep?: k8s.V1SleepAction;
}

const handlerTypes = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

function validateHandler(handler: Handler, at: FieldErrors, gracePeriodSeconds = 0): void {
  const [type, ...extra] = handlerTypes.filter((type) => handler[type] !== undefined);
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (type === undefined) at.required("", "must specify a handler type");
  else if (exec) at.child(type).requireFields(exec, ["command"]);
  else if (httpGet) validateHttpGet(httpGet, at.child(type));
  else if (tcpSocket) validatePort(tcpSocket.port, at.child(type));
  else if (grpc) validatePort(grpc.port, at.child(type));
  else if (sleep && (sleep.seconds < 0 || sleep.seconds > gracePeriodSeconds)) {
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriodSeconds})`;
    at.invalid("sleep", sleep.seconds, detail);
  }
  for (const other of extra) at.forbidden(other, "may not specify more than 1 handler type");
}

function validateHttpGet(action: k8s.V1HTTPGetAction, at: FieldErrors): void {
  if (!action.path) at.required("path");
  validatePort(action.port, at);
  if (action.scheme !== "HTTP" && action.scheme !== "HTTPS") {
    at.notSupported("scheme", action.scheme ?? "", ["HTTP", "HTTPS"]);
  }
  for (const { name } of action.httpHeaders ?? []) {
    at.problems("httpHeaders", name, httpHeaderNameProblems(name));
  }
}

/** Validates a port number or the name of a container port. */
function validatePort(port: number | string | undefined, at: FieldErrors): void {
  if (typeof port === "string") at.problems("port", port, portNameProblems(port));
  else at.problems("port", port ?? 0, portNumberProblems(port ?? 0));
}

const windowsSignals = ["SIGKILL", "SIGTERM"];
const realTimeSignals = [
  "SIGRTMIN",
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
  "SIGRTMAX",
];
const linuxSignals = [
  ...["ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE"],
  ...["POLL", "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN"],
  ...["TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ"],
]
  .map((name) => `SIG${name}`)
  .concat(realTimeSignals)
  .sort();
