import { PageTitle } from "@/components/page/PageTitle"
import { NodesPanel } from "@/panels/nodes/NodesPanel"

export function NodesPage() {
  return (
    <>
      <PageTitle title="Nodes" subtitle="The machines that run the processes of jobs" />
      <NodesPanel />
    </>
  )
}
