/** The core group's volumes, claims and what can be mounted; read by field-numbers.ts, which says how. */
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
