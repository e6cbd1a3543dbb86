import { beforeAll, describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

/** Output for common mistakes, identical to upstream. */
describeKubectl("kubectl and mistakes", (cluster) => {
  beforeAll(async () => {
    await cluster.ok("run pod --image=nginx:1");
    await cluster.ok("create configmap taken");
  });

  const create = (manifest: object, ...flags: string[]) =>
    cluster.fails(["create", "-f", "-", ...flags], { input: JSON.stringify(manifest) });
  const pod = (spec: object, metadata: object = { name: "new" }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name: "main", image: "nginx:1" }], ...spec },
  });

  test.each([
    ["get pod nobody", 'Error from server (NotFound): pods "nobody" not found\n'],
    ["delete service nobody", 'Error from server (NotFound): services "nobody" not found\n'],
    ["get nothing", `error: the server doesn't have a resource type "nothing"\n`],
    [
      "get --raw /nothing",
      "Error from server (NotFound): the server could not find the requested resource\n",
    ],
    ["create configmap taken", 'error: failed to create configmap: configmaps "taken" already exists\n'],
    ["create configmap x -n nowhere", 'error: failed to create configmap: namespaces "nowhere" not found\n'],
    [
      "create configmap Bad_Name",
      'error: failed to create configmap: ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": ' +
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
        "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n",
    ],
    [
      "get pods --field-selector=spec.nope=1",
      'Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "", field selector ' +
        '"spec.nope=1": field label not supported: spec.nope\n',
    ],
    [
      "get pods --as=bob",
      'Error from server (Forbidden): pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the ' +
        'namespace "NS"\n',
    ],
    [
      "delete deployment web --as=bob",
      'Error from server (Forbidden): deployments.apps "web" is forbidden: User "bob" cannot delete resource "deployments" ' +
        'in API group "apps" in the namespace "NS"\n',
    ],
    [
      "get nodes --as=bob",
      'Error from server (Forbidden): nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the ' +
        "cluster scope\n",
    ],
    [
      "get --raw /metrics --as=bob",
      'Error from server (Forbidden): forbidden: User "bob" cannot get path "/metrics"\n',
    ],
    ["exec pod -- ls", "pod pod does not have a host assigned"],
    ["attach pod", "pod pod does not have a host assigned"],
    [
      "port-forward pod/pod 18080:80",
      "error: unable to forward port because pod is not running. Current status=Pending\n",
    ],
    ["logs pod -c nope", "error: container nope is not valid for pod pod"],
    ["top pods", "error: Metrics API not available\n"],
  ])("%s", async (command, complaint) => {
    expect(await cluster.fails(command)).toContain(complaint.replace("NS", cluster.namespace));
  });

  test("the log of a pod without a node is empty", async () => {
    expect(await cluster.ok("logs pod")).toBe("");
  });

  describe("in manifests", () => {
    test.each([
      [
        "an unknown field",
        pod({ contaners: [] }),
        'Error from server (BadRequest): error when creating "STDIN": Pod in version "v1" cannot be handled as a Pod: ' +
          'strict decoding error: unknown field "spec.contaners"\n',
      ],
      [
        "a wrong type",
        pod({ containers: [{ name: "main", image: 7 }] }),
        'Error from server (BadRequest): error when creating "STDIN": Pod in version "v1" cannot be handled as a Pod: ' +
          "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string\n",
      ],
      [
        "a quantity that is none",
        pod({ containers: [{ name: "main", image: "i", resources: { limits: { cpu: "lots" } } }] }),
        'Error from server (BadRequest): error when creating "STDIN": Pod in version "v1" cannot be handled as a Pod: ' +
          "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\n",
      ],
      [
        "several invalid values",
        pod({ restartPolicy: "Sometimes", containers: [{ name: "Main", image: "" }] }),
        'The Pod "new" is invalid: \n' +
          '* spec.containers[0].name: Invalid value: "Main": a lowercase RFC 1123 label must consist of lower case alphanumeric ' +
          "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex " +
          "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n" +
          "* spec.containers[0].image: Required value\n" +
          '* spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"\n',
      ],
      [
        "no containers",
        pod({ containers: [] }),
        'The Pod "new" is invalid: spec.containers: Required value\n',
      ],
      [
        "a missing service account",
        pod({ serviceAccountName: "nobody" }),
        'Error from server (Forbidden): error when creating "STDIN": pods "new" is forbidden: error looking up service account ' +
          'NS/nobody: serviceaccount "nobody" not found\n',
      ],
      [
        "a missing priority class",
        pod({ priorityClassName: "nothing" }),
        'Error from server (Forbidden): error when creating "STDIN": pods "new" is forbidden: no PriorityClass with name ' +
          "nothing was found\n",
      ],
      [
        "no name",
        pod({}, {}),
        'The Pod "" is invalid: metadata.name: Required value: name or generateName is required\n',
      ],
      [
        "a selector that does not match its template",
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "new" },
          spec: {
            selector: { matchLabels: { app: "a" } },
            template: {
              metadata: { labels: { app: "b" } },
              spec: { containers: [{ name: "c", image: "i" }] },
            },
          },
        },
        'The Deployment "new" is invalid: spec.template.metadata.labels: Invalid value: {"app":"b"}: `selector` does not ' +
          "match template `labels`\n",
      ],
      [
        "a port out of range",
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "new" },
          spec: { ports: [{ port: 70000 }] },
        },
        'The Service "new" is invalid: \n* spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive\n' +
          "* spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive\n",
      ],
      [
        "an address outside of the cluster's range",
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "new" },
          spec: { clusterIP: "1.2.3.4", ports: [{ port: 80 }] },
        },
        'The Service "new" is invalid: spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided ' +
          "IP (1.2.3.4) is not in the valid range. The range of valid IPs is 10.96.0.0/16\n",
      ],
      [
        "a kind that is not served",
        { apiVersion: "example.org/v1", kind: "Thing", metadata: { name: "new" } },
        'resource mapping not found for name: "new" namespace: "" from "STDIN": no matches for kind "Thing" in version ' +
          '"example.org/v1"\nensure CRDs are installed first\n',
      ],
    ])("%s", async (_, manifest, complaint) => {
      expect(await create(manifest)).toContain(complaint.replace("NS", cluster.namespace));
    });

    test("an unknown field is a warning if the user requests it", async () => {
      const input = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"warned"},"color":1}';
      expect(await cluster.run("create -f - --validate=warn", { input })).toEqual({
        code: 0,
        stdout: "configmap/warned created\n",
        stderr: 'Warning: unknown field "color"\n',
      });
    });
  });

  test("a forbidden change of a pod's spec is reported with the allowed fields", async () => {
    expect(await cluster.fails(["patch", "pod", "pod", "-p", '{"spec":{"hostname":"other"}}'])).toContain(
      'The Pod "pod" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,' +
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing " +
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n",
    );
  });
});
