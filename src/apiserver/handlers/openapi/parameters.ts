export interface QueryParameter {
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
}

/** Query parameters of the API. */
export const queryParameters = {
  allowWatchBookmarks: { type: "boolean", description: "Lets a watch send BOOKMARK events now and then." },
  command: { type: "string", description: "The command to run; may be given more than once." },
  container: { type: "string", description: "Name of the container. Defaults to the only one." },
  continue: { type: "string", description: "The continue token of the page of a list before this one." },
  dryRun: { type: "string", description: "All: do everything but store the result." },
  fieldManager: { type: "string", description: "Who makes this change." },
  fieldSelector: {
    type: "string",
    description: "Restricts the list to objects with these values of fields.",
  },
  fieldValidation: {
    type: "string",
    description: "What becomes of unknown and duplicate fields: Ignore, Warn (the default) or Strict.",
  },
  follow: { type: "boolean", description: "Keep sending what is logged from now on." },
  force: { type: "boolean", description: "Take over fields that others own; for apply patches." },
  gracePeriodSeconds: { type: "integer", description: "Seconds until the object goes; 0 is at once." },
  insecureSkipTLSVerifyBackend: { type: "boolean", description: "Do not verify the kubelet's certificate." },
  labelSelector: { type: "string", description: "Restricts the list to objects with these labels." },
  limit: { type: "integer", description: "How many objects a page of the list has at most." },
  limitBytes: { type: "integer", description: "How many bytes of the log to send at most." },
  orphanDependents: { type: "boolean", description: "Deprecated: use propagationPolicy." },
  path: { type: "string", description: "The path behind the proxy." },
  ports: { type: "integer", description: "The ports to forward." },
  pretty: { type: "string", description: "true: indent the answer." },
  previous: { type: "boolean", description: "The log of the container that ran before." },
  propagationPolicy: {
    type: "string",
    description: "What becomes of dependents: Orphan, Background or Foreground.",
  },
  resourceVersion: { type: "string", description: "Which version of the data the answer may come from." },
  resourceVersionMatch: {
    type: "string",
    description: "How resourceVersion is meant: Exact or NotOlderThan.",
  },
  sendInitialEvents: { type: "boolean", description: "Lets a watch begin with all objects that exist." },
  sinceSeconds: { type: "integer", description: "Only what was logged in the last so many seconds." },
  stderr: { type: "boolean", description: "Connect the standard error." },
  stdin: { type: "boolean", description: "Connect the standard input." },
  stdout: { type: "boolean", description: "Connect the standard output." },
  stream: { type: "string", description: "Which stream of the log: All, Stdout or Stderr." },
  tailLines: { type: "integer", description: "Only so many lines from the end of the log." },
  timeoutSeconds: { type: "integer", description: "Ends the list or watch after so many seconds." },
  timestamps: { type: "boolean", description: "Begin each line of the log with its time." },
  tty: { type: "boolean", description: "Allocate a terminal." },
  watch: { type: "boolean", description: "ApiResponse with changes as they happen instead of a list." },
} as const satisfies Record<string, QueryParameter>;

export type QueryParameterName = keyof typeof queryParameters;

const write: readonly QueryParameterName[] = ["dryRun", "fieldManager", "fieldValidation"];
const remove: readonly QueryParameterName[] = [
  "dryRun",
  "gracePeriodSeconds",
  "orphanDependents",
  "propagationPolicy",
];
const select: readonly QueryParameterName[] = [
  "continue",
  "fieldSelector",
  "labelSelector",
  "limit",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "timeoutSeconds",
];

/** Names of the query parameters by verb. */
export const parametersOfVerb: Readonly<Record<string, readonly QueryParameterName[]>> = {
  create: write,
  delete: remove,
  deletecollection: [...remove, ...select],
  get: [],
  list: ["allowWatchBookmarks", ...select, "watch"],
  patch: [...write, "force"],
  update: write,
};

/** Names of the query parameters of subresources whose requests have no object. */
export const parametersOfSubresource: Readonly<Record<string, readonly QueryParameterName[]>> = {
  attach: ["container", "stderr", "stdin", "stdout", "tty"],
  exec: ["command", "container", "stderr", "stdin", "stdout", "tty"],
  log: [
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
  ],
  portforward: ["ports"],
  proxy: ["path"],
};
