import type { AwsType } from './aws-type.ts'

/** Sets or removes a tag of an EC2 resource. */
export const tagEc2: NonNullable<AwsType['tag']> = async ({ sdk, ec2 }, { id }, { key, value }) => {
  const Resources = [id]
  if (value === undefined) await ec2.send(new sdk.ec2.DeleteTagsCommand({ Resources, Tags: [{ Key: key }] }))
  else await ec2.send(new sdk.ec2.CreateTagsCommand({ Resources, Tags: [{ Key: key, Value: value }] }))
}
