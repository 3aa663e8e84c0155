import NavigationChain
import SignalboxRoutes

extension ConfigurationReader {
    private static let deadlines: ClosedRange<Duration> = .milliseconds(1)...NavigationRouter.maximumDeadline

    func navigation(_ value: YAMLValue) -> NavigationSection? {
        guard let mapping = value.mapping(.navigation) else { return nil }
        let deadline = mapping.optional("handler_deadline")?.duration(ConfigurationReader.deadlines)
        let advice = "say what becomes of a URL about which no handler decides: cancel, allow or download"
        let fallback = mapping.required("fallback", advice).flatMap(policy)
        guard let chain = mapping.required("chain", "list the handlers in their order")?.list() else { return nil }
        var names: [String: YAMLValue] = [:]
        let handlers = chain.compactMap { handler($0, &names) }
        guard let fallback, handlers.count == chain.count else { return nil }
        let section = NavigationSection(
            chain: handlers,
            fallback: fallback,
            handlerDeadline: deadline ?? .seconds(2)
        )
        do throws(NavigationChainError) {
            _ = try section.rehearsal()
            return section
        } catch {
            value.complain(error.detail)
            return nil
        }
    }

    private func handler(_ value: YAMLValue, _ names: inout [String: YAMLValue]) -> NavigationHandlerSection? {
        guard let entry = NavigationEntry(value) else { return nil }
        let kind = kind(entry).flatMap { isBuildable($0, at: entry.value) ? $0 : nil }
        let name = name(of: entry, at: value, &names)
        guard let kind, let name else { return nil }
        return NavigationHandlerSection(kind: kind, name: name)
    }

    private func name(of entry: NavigationEntry, at value: YAMLValue, _ names: inout [String: YAMLValue]) -> String? {
        let written = entry.mapping.optional("name")
        let given = written.map { $0.text() } ?? entry.kind.standardName
        guard let name = given, isName(name, at: written ?? value) else { return nil }
        if let holder = names[name] {
            let advice = "give this one a name of its own"
            (written ?? value).complain(
                "'\(name)' is \(holder.path) in line \(holder.line) already; \(advice)",
                .badName
            )
            return nil
        }
        names[name] = value
        return name
    }

    /// Asks the handler itself.
    private func isBuildable(_ kind: NavigationHandlerSection.Kind, at value: YAMLValue) -> Bool {
        do throws(NavigationChainError) {
            _ = try NavigationHandlerSection(kind: kind, name: "handler").rehearsal()
            return true
        } catch {
            value.complain(error.detail)
            return false
        }
    }

    private func isName(_ name: String, at value: YAMLValue) -> Bool {
        do throws(NavigationChainError) {
            let handler = try SchemeHandler(allowing: [], name: name)
            _ = try NavigationRouter([handler], fallback: .cancel("not asked"))
            return true
        } catch {
            value.complain(error.detail)
            return false
        }
    }

    func policy(_ value: YAMLValue) -> NavigationPolicy? {
        value.word(of: NavigationPolicy.allCases.map(\.rawValue), meaning: "a decision").flatMap(
            NavigationPolicy.init(rawValue:)
        )
    }
}
