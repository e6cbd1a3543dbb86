import { expect, test } from "vitest";
import { type ControllerName, controllerNames, parseControllers } from "./controller-names.ts";

const without = (...names: ControllerName[]) => controllerNames.filter((name) => !names.includes(name));

test.each<[string, readonly ControllerName[]]>([
  ["*", controllerNames],
  ["*,-statefulset-controller", without("statefulset-controller")],
  ["-statefulset,*,-deployment", without("statefulset-controller", "deployment-controller")],
  ["statefulset-controller", ["statefulset-controller"]],
  ["deployment, replicaset", ["replicaset-controller", "deployment-controller"]],
  ["*,podgc,endpoint,garbagecollector", controllerNames],
  ["deployment,-deployment-controller", ["deployment-controller"]],
  ["*,-deployment,deployment", without("deployment-controller")],
])("--controllers %s enables %j", (text, enabled) => {
  expect([...parseControllers(text)]).toEqual(enabled);
});

test.each([
  ["*,-statefulsets", /"statefulsets" is not a controller; known controllers: statefulset-controller, /],
  ["statefulset-controler", /did you mean statefulset-controller\?/],
  ["cloud-controller", /"cloud-controller" is not a controller/],
  ["", /"" is not a controller/],
  ["-deployment", /"-deployment" enables no controller/],
])("--controllers %j is refused", (text, message) => {
  expect(() => parseControllers(text)).toThrow(message);
});
