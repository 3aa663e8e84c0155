public import ArgumentParser
public import NavigationChain

extension NavigationKind: ExpressibleByArgument {}
extension FrameRole: ExpressibleByArgument {}
