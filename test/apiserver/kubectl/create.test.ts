import { describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

/** kubectl sends these bodies as protobuf: what was stored is read back as JSON. */
describeKubectl("kubectl create", (cluster, tool) => {
  test.each([
    {
      command: "create configmap made --from-literal=a=1 --from-literal=b=two",
      says: "configmap/made created",
      holds: { data: { a: "1", b: "two" } },
    },
    {
      command: "create secret generic made --from-literal=password=sesame",
      says: "secret/made created",
      holds: { type: "Opaque", data: { password: "c2VzYW1l" } },
    },
    {
      command: "create secret docker-registry pull --docker-server=r --docker-username=u --docker-password=p",
      says: "secret/pull created",
      holds: {
        type: "kubernetes.io/dockerconfigjson",
        data: { ".dockerconfigjson": btoa('{"auths":{"r":{"username":"u","password":"p","auth":"dTpw"}}}') },
      },
    },
    {
      command: "create deployment made --image=nginx --replicas=2 --port=80",
      says: "deployment.apps/made created",
      holds: {
        metadata: { generation: 1, labels: { app: "made" } },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: "made" } },
          strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
          template: {
            metadata: { labels: { app: "made" } },
            spec: {
              containers: [
                {
                  name: "nginx",
                  image: "nginx",
                  ports: [{ containerPort: 80, protocol: "TCP" }],
                  resources: {},
                },
              ],
              restartPolicy: "Always",
            },
          },
        },
      },
    },
    {
      command: "create service clusterip made --tcp=80:8080",
      says: "service/made created",
      holds: {
        spec: {
          type: "ClusterIP",
          clusterIP: expect.stringMatching(/^10\.96\./),
          ipFamilies: ["IPv4"],
          ipFamilyPolicy: "SingleStack",
          ports: [{ name: "80-8080", port: 80, targetPort: 8080, protocol: "TCP" }],
          selector: { app: "made" },
        },
      },
    },
    {
      command: "create service clusterip headless --clusterip=None",
      says: "service/headless created",
      holds: { spec: { clusterIP: "None", clusterIPs: ["None"] } },
    },
    {
      command: "create service nodeport made-np --tcp=80:8080",
      says: "service/made-np created",
      holds: { spec: { type: "NodePort", ports: [{ nodePort: expect.any(Number) }] } },
    },
    {
      command: "create service loadbalancer made-lb --tcp=80:8080",
      says: "service/made-lb created",
      holds: { spec: { type: "LoadBalancer", allocateLoadBalancerNodePorts: true } },
    },
    {
      command: "create service externalname made-en --external-name=example.org",
      says: "service/made-en created",
      holds: { spec: { type: "ExternalName", externalName: "example.org" } },
    },
    {
      command: "create serviceaccount made",
      says: "serviceaccount/made created",
      holds: { metadata: { uid: expect.any(String) } },
    },
    {
      command: "create role made --verb=get,list --resource=pods,deployments.apps",
      says: "role.rbac.authorization.k8s.io/made created",
      holds: {
        rules: [
          { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
          { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] },
        ],
      },
    },
    {
      command: "create rolebinding made --role=made --user=bob --group=devs",
      says: "rolebinding.rbac.authorization.k8s.io/made created",
      holds: {
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "made" },
        subjects: [
          { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" },
          { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "devs" },
        ],
      },
    },
    {
      command: `create clusterrole made-${tool} --verb=get --resource=nodes --non-resource-url=/metrics`,
      says: `clusterrole.rbac.authorization.k8s.io/made-${tool} created`,
      holds: {
        rules: [
          { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
          { nonResourceURLs: ["/metrics"], verbs: ["get"] },
        ],
      },
    },
    {
      command: `create clusterrolebinding made-${tool} --clusterrole=view --serviceaccount=default:made`,
      says: `clusterrolebinding.rbac.authorization.k8s.io/made-${tool} created`,
      holds: { subjects: [{ kind: "ServiceAccount", name: "made", namespace: "default" }] },
    },
    {
      command: "create poddisruptionbudget made --selector=app=made --min-available=50%",
      says: "poddisruptionbudget.policy/made created",
      holds: { spec: { minAvailable: "50%", selector: { matchLabels: { app: "made" } } } },
    },
    {
      command: "create poddisruptionbudget made-max --selector=app=made --max-unavailable=1",
      says: "poddisruptionbudget.policy/made-max created",
      holds: { spec: { maxUnavailable: 1 } },
    },
    {
      command: `create priorityclass made-${tool} --value=1000 --preemption-policy=Never --description=high`,
      says: `priorityclass.scheduling.k8s.io/made-${tool} created`,
      holds: { value: 1000, preemptionPolicy: "Never", description: "high" },
    },
    {
      command: `create namespace made-${tool}`,
      says: `namespace/made-${tool} created`,
      holds: { status: { phase: "Active" }, spec: { finalizers: ["kubernetes"] } },
    },
  ])("$command", async ({ command, says, holds }) => {
    expect(await cluster.ok(command)).toBe(`${says}\n`);
    const [resource = ""] = says.split(" ");
    expect(JSON.parse(await cluster.ok(`get ${resource} -o json`))).toMatchObject(holds);
    expect(await cluster.fails(command)).toMatch(/already exists/);
  });

  test("a token authenticates as its service account", async () => {
    await cluster.ok("create serviceaccount speaker");
    const token = (await cluster.ok("create token speaker --duration=20m")).trim();
    const [, claims = ""] = token.split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
      sub: `system:serviceaccount:${cluster.namespace}:speaker`,
      aud: ["https://kubernetes.default.svc.cluster.local"],
      "kubernetes.io": { namespace: cluster.namespace, serviceaccount: { name: "speaker" } },
    });
    const speaker = await cluster.as({ token });
    expect(await speaker.ok("auth whoami -o jsonpath={.status.userInfo.username}")).toBe(
      `system:serviceaccount:${cluster.namespace}:speaker`,
    );
    expect(await speaker.fails("get pods")).toBe(
      `Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:${cluster.namespace}:speaker" ` +
        `cannot list resource "pods" in API group "" in the namespace "${cluster.namespace}"\n`,
    );
    await cluster.ok(
      `create rolebinding speaker --clusterrole=view --serviceaccount=${cluster.namespace}:speaker`,
    );
    expect(await speaker.run("get pods")).toMatchObject({ code: 0 });
  });

  describe("run", () => {
    test("a pod", async () => {
      expect(await cluster.ok("run one --image=nginx:1 --env=A=b --labels=app=x --port=80")).toBe(
        "pod/one created\n",
      );
      expect(JSON.parse(await cluster.ok("get pod one -o json"))).toMatchObject({
        metadata: { labels: { app: "x" } },
        spec: {
          containers: [
            {
              name: "one",
              image: "nginx:1",
              imagePullPolicy: "IfNotPresent",
              env: [{ name: "A", value: "b" }],
              ports: [{ containerPort: 80, protocol: "TCP" }],
            },
          ],
          serviceAccountName: "default",
          tolerations: [
            { key: "node.kubernetes.io/not-ready", effect: "NoExecute", tolerationSeconds: 300 },
            { key: "node.kubernetes.io/unreachable", effect: "NoExecute", tolerationSeconds: 300 },
          ],
        },
        status: { phase: "Pending", qosClass: "BestEffort" },
      });
    });

    test("a command that runs once, and a service before it", async () => {
      await cluster.ok("run two --image=nginx --restart=Never --port=80 --expose -- sleep 1");
      expect(await cluster.ok("get pod/two service/two -o name")).toBe("pod/two\nservice/two\n");
      const spec = await cluster.ok(
        "get pod two -o jsonpath={.spec.restartPolicy}{.spec.containers[0].args}",
      );
      expect(spec).toBe('Never["sleep","1"]');
    });

    test("expose takes the selector of what it exposes", async () => {
      await cluster.ok("create deployment exposed --image=nginx");
      expect(await cluster.ok("expose deployment exposed --port=80 --target-port=8080")).toBe(
        "service/exposed exposed\n",
      );
      expect(await cluster.ok("get service exposed -o jsonpath={.spec.selector}")).toBe('{"app":"exposed"}');
    });
  });

  test("unknown kinds are reported", async () => {
    const input = JSON.stringify({ apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "x" } });
    expect(await cluster.fails("create -f -", { input })).toContain(
      'no matches for kind "Gadget" in version "example.com/v1"',
    );
  });
});
