import { PageTitle } from "@/components/page/PageTitle"
import { NodesPanel } from "@/panels/nodes/NodesPanel"

export function NodesPage() {
  return (
    <>
      <PageTitle title="Nodes" subtitle="Machines that run the jobs' processes" />
      <NodesPanel />
    </>
  )
}
