/** Field numbers of the core group without volumes. field-numbers.ts describes the format. */
export const coreFieldNumbers = `
core.v1.Affinity: nodeAffinity podAffinity podAntiAffinity
core.v1.AppArmorProfile: type localhostProfile
core.v1.Binding: metadata target
core.v1.Capabilities: add drop
core.v1.ClientIPConfig: timeoutSeconds
core.v1.ConfigMap: metadata data binaryData immutable
core.v1.ConfigMapEnvSource: ...core.v1.LocalObjectReference optional
core.v1.ConfigMapKeySelector: ...core.v1.LocalObjectReference key optional
core.v1.ConfigMapNodeConfigSource: namespace name uid resourceVersion kubeletConfigKey
core.v1.Container: name image command args workingDir ports env resources volumeMounts livenessProbe
  readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom
  terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules
core.v1.ContainerExtendedResourceRequest: containerName resourceName requestName
core.v1.ContainerImage: names sizeBytes
core.v1.ContainerPort: name hostPort containerPort protocol hostIP
core.v1.ContainerResizePolicy: resourceName restartPolicy
core.v1.ContainerRestartRule: action exitCodes
core.v1.ContainerRestartRuleOnExitCodes: operator values
core.v1.ContainerState: waiting running terminated
core.v1.ContainerStateRunning: startedAt
core.v1.ContainerStateTerminated: exitCode signal reason message startedAt finishedAt containerID
core.v1.ContainerStateWaiting: reason message
core.v1.ContainerStatus: name state lastState ready restartCount image imageID containerID started
  allocatedResources resources volumeMounts user allocatedResourcesStatus stopSignal
core.v1.ContainerUser: linux
core.v1.DaemonEndpoint: Port
core.v1.EndpointAddress: ip targetRef hostname nodeName
core.v1.EndpointPort: name port protocol appProtocol
core.v1.EndpointSubset: addresses notReadyAddresses ports
core.v1.Endpoints: metadata subsets
core.v1.EnvFromSource: prefix configMapRef secretRef
core.v1.EnvVar: name value valueFrom
core.v1.EnvVarSource: fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef
core.v1.EphemeralContainer: ...core.v1.EphemeralContainerCommon targetContainerName
core.v1.EphemeralContainerCommon: name image command args workingDir ports env resources volumeMounts
  livenessProbe readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext stdin
  stdinOnce tty envFrom terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy
  restartPolicyRules
core.v1.Event: metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime
  series action related reportingComponent reportingInstance
core.v1.EventSeries: count lastObservedTime
core.v1.EventSource: component host
core.v1.ExecAction: command
core.v1.FileKeySelector: volumeName path key optional
core.v1.GRPCAction: port service
core.v1.HTTPGetAction: path port host scheme httpHeaders
core.v1.HTTPHeader: name value
core.v1.HostAlias: ip hostnames
core.v1.HostIP: ip
core.v1.Lifecycle: postStart preStop stopSignal
core.v1.LifecycleHandler: exec httpGet tcpSocket sleep
core.v1.LimitRange: metadata spec
core.v1.LimitRangeItem: type max min default defaultRequest maxLimitRequestRatio
core.v1.LimitRangeSpec: limits
core.v1.LinuxContainerUser: uid gid supplementalGroups
core.v1.LoadBalancerIngress: ip hostname ipMode ports
core.v1.LoadBalancerStatus: ingress
core.v1.LocalObjectReference: name
core.v1.Namespace: metadata spec status
core.v1.NamespaceCondition: type status lastTransitionTime=4 reason message
core.v1.NamespaceSpec: finalizers
core.v1.NamespaceStatus: phase conditions
core.v1.Node: metadata spec status
core.v1.NodeAddress: type address
core.v1.NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
core.v1.NodeAllocatableResourceClaimStatus: resourceClaimName containers resources
core.v1.NodeCondition: type status lastHeartbeatTime lastTransitionTime reason message
core.v1.NodeConfigSource: configMap=2
core.v1.NodeConfigStatus: assigned active lastKnownGood error
core.v1.NodeDaemonEndpoints: kubeletEndpoint
core.v1.NodeFeatures: supplementalGroupsPolicy
core.v1.NodeRuntimeHandler: name features
core.v1.NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
core.v1.NodeSelector: nodeSelectorTerms
core.v1.NodeSelectorRequirement: key operator values
core.v1.NodeSelectorTerm: matchExpressions matchFields
core.v1.NodeSpec: podCIDR externalID providerID unschedulable taints configSource podCIDRs
core.v1.NodeStatus: capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images
  volumesInUse volumesAttached config runtimeHandlers features declaredFeatures
core.v1.NodeSwapStatus: capacity
core.v1.NodeSystemInfo: machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion
  kubeletVersion kubeProxyVersion operatingSystem architecture swap
core.v1.ObjectFieldSelector: apiVersion fieldPath
core.v1.ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
core.v1.Pod: metadata spec status
core.v1.PodAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
core.v1.PodAffinityTerm: labelSelector namespaces topologyKey namespaceSelector matchLabelKeys
  mismatchLabelKeys
core.v1.PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
core.v1.PodCondition: type status lastProbeTime lastTransitionTime reason message observedGeneration
core.v1.PodDNSConfig: nameservers searches options
core.v1.PodDNSConfigOption: name value
core.v1.PodExtendedResourceClaimStatus: requestMappings resourceClaimName
core.v1.PodIP: ip
core.v1.PodOS: name
core.v1.PodReadinessGate: conditionType
core.v1.PodResourceClaim: name resourceClaimName=3 resourceClaimTemplateName
core.v1.PodResourceClaimStatus: name resourceClaimName
core.v1.PodSchedulingGate: name
core.v1.PodSchedulingGroup: podGroupName
core.v1.PodSecurityContext: seLinuxOptions runAsUser runAsNonRoot supplementalGroups fsGroup runAsGroup
  sysctls windowsOptions fsGroupChangePolicy seccompProfile appArmorProfile supplementalGroupsPolicy
  seLinuxChangePolicy
core.v1.PodSpec: volumes containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds
  dnsPolicy nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC
  securityContext imagePullSecrets hostname subdomain affinity schedulerName initContainers
  automountServiceAccountToken tolerations hostAliases priorityClassName priority dnsConfig
  shareProcessNamespace readinessGates runtimeClassName enableServiceLinks preemptionPolicy overhead
  topologySpreadConstraints ephemeralContainers setHostnameAsFQDN os hostUsers schedulingGates resourceClaims
  resources hostnameOverride schedulingGroup=43
core.v1.PodStatus: phase conditions message reason hostIP podIP startTime containerStatuses qosClass
  initContainerStatuses nominatedNodeName podIPs ephemeralContainerStatuses resize resourceClaimStatuses
  hostIPs observedGeneration extendedResourceClaimStatus allocatedResources resources
  nodeAllocatableResourceClaimStatuses
core.v1.PodTemplateSpec: metadata spec
core.v1.PortStatus: port protocol error
core.v1.PreferredSchedulingTerm: weight preference
core.v1.Probe: ...core.v1.ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold
  failureThreshold terminationGracePeriodSeconds
core.v1.ProbeHandler: exec httpGet tcpSocket grpc
core.v1.ResourceClaim: name request
core.v1.ResourceFieldSelector: containerName resource divisor
core.v1.ResourceHealth: resourceID health message=6
core.v1.ResourceQuota: metadata spec status
core.v1.ResourceQuotaSpec: hard scopes scopeSelector
core.v1.ResourceQuotaStatus: hard used
core.v1.ResourceRequirements: limits requests claims
core.v1.ResourceStatus: name resources
core.v1.SELinuxOptions: user role type level
core.v1.SeccompProfile: type localhostProfile
core.v1.Secret: metadata data type stringData immutable
core.v1.ScopeSelector: matchExpressions
core.v1.ScopedResourceSelectorRequirement: scopeName operator values
core.v1.SecretEnvSource: ...core.v1.LocalObjectReference optional
core.v1.SecretKeySelector: ...core.v1.LocalObjectReference key optional
core.v1.SecretReference: name namespace
core.v1.SecurityContext: capabilities privileged seLinuxOptions runAsUser runAsNonRoot readOnlyRootFilesystem
  allowPrivilegeEscalation runAsGroup procMount windowsOptions seccompProfile appArmorProfile
core.v1.Service: metadata spec status
core.v1.ServiceAccount: metadata secrets imagePullSecrets automountServiceAccountToken
core.v1.ServicePort: name protocol port targetPort nodePort appProtocol
core.v1.ServiceSpec: ports selector clusterIP type externalIPs sessionAffinity=7 loadBalancerIP
  loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses
  sessionAffinityConfig ipFamilyPolicy=17 clusterIPs ipFamilies allocateLoadBalancerNodePorts
  loadBalancerClass internalTrafficPolicy trafficDistribution
core.v1.ServiceStatus: loadBalancer conditions
core.v1.SessionAffinityConfig: clientIP
core.v1.SleepAction: seconds
core.v1.Sysctl: name value
core.v1.TCPSocketAction: port host
core.v1.Taint: key value effect timeAdded
core.v1.Toleration: key operator value effect tolerationSeconds
core.v1.TopologySelectorLabelRequirement: key values
core.v1.TopologySelectorTerm: matchLabelExpressions
core.v1.TopologySpreadConstraint: maxSkew topologyKey whenUnsatisfiable labelSelector minDomains
  nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys
core.v1.TypedLocalObjectReference: apiGroup kind name
core.v1.TypedObjectReference: apiGroup kind name namespace
core.v1.WeightedPodAffinityTerm: weight podAffinityTerm
core.v1.WindowsSecurityContextOptions: gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess
`;

/** Field numbers of volumes, claims and volume sources of the core group. field-numbers.ts describes the format. */
export const volumeFieldNumbers = `
core.v1.AWSElasticBlockStoreVolumeSource: volumeID fsType partition readOnly
core.v1.AttachedVolume: name devicePath
core.v1.AzureDiskVolumeSource: diskName diskURI cachingMode fsType readOnly kind
core.v1.AzureFilePersistentVolumeSource: secretName shareName readOnly secretNamespace
core.v1.AzureFileVolumeSource: secretName shareName readOnly
core.v1.CSIPersistentVolumeSource: driver volumeHandle readOnly fsType volumeAttributes
  controllerPublishSecretRef nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef
  nodeExpandSecretRef
core.v1.CSIVolumeSource: driver readOnly fsType volumeAttributes nodePublishSecretRef
core.v1.CephFSPersistentVolumeSource: monitors path user secretFile secretRef readOnly
core.v1.CephFSVolumeSource: monitors path user secretFile secretRef readOnly
core.v1.CinderPersistentVolumeSource: volumeID fsType readOnly secretRef
core.v1.CinderVolumeSource: volumeID fsType readOnly secretRef
core.v1.ClusterTrustBundleProjection: name signerName labelSelector path optional
core.v1.ConfigMapProjection: ...core.v1.LocalObjectReference items optional=4
core.v1.ConfigMapVolumeSource: ...core.v1.LocalObjectReference items defaultMode optional
core.v1.DownwardAPIProjection: items
core.v1.DownwardAPIVolumeFile: path fieldRef resourceFieldRef mode
core.v1.DownwardAPIVolumeSource: items defaultMode
core.v1.EmptyDirVolumeSource: medium sizeLimit
core.v1.EphemeralVolumeSource: volumeClaimTemplate
core.v1.FCVolumeSource: targetWWNs lun fsType readOnly wwids
core.v1.FlexPersistentVolumeSource: driver fsType secretRef readOnly options
core.v1.FlexVolumeSource: driver fsType secretRef readOnly options
core.v1.FlockerVolumeSource: datasetName datasetUUID
core.v1.GCEPersistentDiskVolumeSource: pdName fsType partition readOnly
core.v1.GitRepoVolumeSource: repository revision directory
core.v1.GlusterfsPersistentVolumeSource: endpoints path readOnly endpointsNamespace
core.v1.GlusterfsVolumeSource: endpoints path readOnly
core.v1.HostPathVolumeSource: path type
core.v1.ISCSIPersistentVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals
  chapAuthDiscovery secretRef=10 chapAuthSession initiatorName
core.v1.ISCSIVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery
  secretRef=10 chapAuthSession initiatorName
core.v1.ImageVolumeSource: reference pullPolicy
core.v1.ImageVolumeStatus: imageRef
core.v1.KeyToPath: key path mode
core.v1.LocalVolumeSource: path fsType
core.v1.ModifyVolumeStatus: targetVolumeAttributesClassName status
core.v1.NFSVolumeSource: server path readOnly
core.v1.PersistentVolume: metadata spec status
core.v1.PersistentVolumeClaim: metadata spec status
core.v1.PersistentVolumeClaimCondition: type status lastProbeTime lastTransitionTime reason message
core.v1.PersistentVolumeClaimSpec: accessModes resources volumeName selector storageClassName volumeMode
  dataSource dataSourceRef volumeAttributesClassName
core.v1.PersistentVolumeClaimStatus: phase accessModes capacity conditions allocatedResources
  allocatedResourceStatuses=7 currentVolumeAttributesClassName modifyVolumeStatus
core.v1.PersistentVolumeClaimTemplate: metadata spec
core.v1.PersistentVolumeClaimVolumeSource: claimName readOnly
core.v1.PersistentVolumeSource: gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi cinder
  cephfs fc flocker flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume
  scaleIO local storageos csi
core.v1.PersistentVolumeSpec: capacity ...core.v1.PersistentVolumeSource accessModes claimRef
  persistentVolumeReclaimPolicy storageClassName mountOptions volumeMode nodeAffinity
  volumeAttributesClassName
core.v1.PersistentVolumeStatus: phase message reason lastPhaseTransitionTime
core.v1.PhotonPersistentDiskVolumeSource: pdID fsType
core.v1.PodCertificateProjection: signerName keyType maxExpirationSeconds credentialBundlePath keyPath
  certificateChainPath userAnnotations
core.v1.PortworxVolumeSource: volumeID fsType readOnly
core.v1.ProjectedVolumeSource: sources defaultMode
core.v1.QuobyteVolumeSource: registry volume readOnly user group tenant
core.v1.RBDPersistentVolumeSource: monitors image fsType pool user keyring secretRef readOnly
core.v1.RBDVolumeSource: monitors image fsType pool user keyring secretRef readOnly
core.v1.ScaleIOPersistentVolumeSource: gateway system secretRef sslEnabled protectionDomain storagePool
  storageMode volumeName fsType readOnly
core.v1.ScaleIOVolumeSource: gateway system secretRef sslEnabled protectionDomain storagePool storageMode
  volumeName fsType readOnly
core.v1.SecretProjection: ...core.v1.LocalObjectReference items optional=4
core.v1.SecretVolumeSource: secretName items defaultMode optional
core.v1.ServiceAccountTokenProjection: audience expirationSeconds path
core.v1.StorageOSPersistentVolumeSource: volumeName volumeNamespace fsType readOnly secretRef
core.v1.StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly secretRef
core.v1.Volume: name ...core.v1.VolumeSource
core.v1.VolumeDevice: name devicePath
core.v1.VolumeMount: name readOnly mountPath subPath mountPropagation subPathExpr recursiveReadOnly
core.v1.VolumeMountStatus: name mountPath readOnly recursiveReadOnly volumeStatus
core.v1.VolumeNodeAffinity: required
core.v1.VolumeProjection: secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate
core.v1.VolumeResourceRequirements: limits requests
core.v1.VolumeSource: hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi
  glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap
  vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi
  ephemeral image
core.v1.VolumeStatus: image
core.v1.VsphereVirtualDiskVolumeSource: volumePath fsType storagePolicyName storagePolicyID
`;
