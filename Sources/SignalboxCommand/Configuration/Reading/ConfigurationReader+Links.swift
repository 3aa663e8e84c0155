import AppScheme
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    func links(_ value: YAMLValue) -> LinksSection? {
        guard let mapping = value.mapping(.links) else { return nil }
        let routes = routes(mapping)
        // A setting with an error, which has been reported, counts as present.
        let listed = mapping.optional("urls").map { $0.list() } ?? []
        let urls = listed?.compactMap { $0.text() } ?? []
        let file = mapping.optional("file").map(namedFile)
        let standardInput = mapping.optional("standard_input")
        let isRead = standardInput.map { $0.flag() } ?? false
        if isRead == true, let standardInput { claimStandardInput(standardInput) }
        if use.runsSources, listed?.isEmpty == true, file == nil, isRead == false {
            let advice = "'urls', 'file' or 'standard_input: true'"
            value.reportError("the source has no links; add \(advice)", .missingKey, suggestion: advice)
        }
        guard let routes else { return nil }
        var section = LinksSection(routes: routes.table, list: routes.list)
        section.urls = urls
        section.file = file ?? nil
        section.standardInput = isRead ?? false
        return section
    }

    /// Returns the routes in a mapping that has the keys of ``MappingKeys/routeFile``.
    func routes(_ mapping: YAMLMapping) -> (table: AppRoutes, list: [AppRoute])? {
        let fallback = mapping.optional("fallback")
        let action = fallback?.parsed(.badName) { try ActionName($0) }
        let advice = "list at least one { pattern: …, action: … }"
        guard let written = mapping.required("routes", advice), let list = written.list() else { return nil }
        guard !list.isEmpty else {
            written.reportError(advice, .missingKey, suggestion: advice)
            return nil
        }
        // An error in one route makes a check of all of them meaningless.
        let found = list.map(route)
        let routes = found.compactMap { $0 }
        guard routes.count == found.count, fallback == nil || action != nil else { return nil }
        do throws(AppSchemeError) {
            let table = try AppRoutes(routes, fallback: action)
            if let action, let fallback { locations.actions.append((action, fallback)) }
            return (table, routes)
        } catch {
            let location =
                error.code == .ambiguousRoutes ? list[ConfigurationReader.firstConflict(in: routes)] : written
            location.reportError(error.detail, error.code == .ambiguousRoutes ? .shadowedRoute : .invalidValue)
            return nil
        }
    }

    private func route(_ value: YAMLValue) -> AppRoute? {
        guard let mapping = value.mapping(.route) else { return nil }
        let action = mapping.optional("action")
        let name = action?.parsed(.badName) { try ActionName($0) }
        let once = mapping.optional("once").map { $0.flag() }
        let written = mapping.required("pattern", "such as myapp://product/{id:int}")
        guard let written,
            let pattern = written.parsed(.badPattern, { try URLPattern($0) }),
            action == nil || name != nil, once != .some(nil)
        else { return nil }
        let route = AppRoute(pattern, action: name, once: once.flatMap { $0 } ?? false)
        do throws(AppSchemeError) {
            _ = try AppRoutes([route])
            if let name, let action { locations.actions.append((name, action)) }
            return route
        } catch {
            let location: YAMLValue? =
                switch error.code {
                case .missingScheme, .forbiddenScheme: written
                case .conflictingAction: action
                case .conflictingID: mapping.optional("once")
                default: value
                }
            let problem: ProblemCode =
                switch error.code {
                case .missingScheme, .forbiddenScheme: .badPattern
                case .missingAction: .missingKey
                default: .conflictingKeys
                }
            (location ?? value).reportError(error.detail, problem)
            return nil
        }
    }

    /// Returns the index of the first route that conflicts with an earlier one.
    private static func firstConflict(in routes: [AppRoute]) -> Int {
        var (clear, clashing) = (1, routes.count)
        while clear + 1 < clashing {
            let middle = (clear + clashing) / 2
            if (try? AppRoutes(Array(routes[..<middle]))) != nil { clear = middle } else { clashing = middle }
        }
        return clashing - 1
    }

    private func claimStandardInput(_ value: YAMLValue) {
        if let holder = standardInput.holder {
            value.reportError(
                "stdin is already read by \(holder.path) in line \(holder.line); only one source can read it",
                .conflictingKeys
            )
        } else {
            standardInput.holder = value
        }
    }
}
