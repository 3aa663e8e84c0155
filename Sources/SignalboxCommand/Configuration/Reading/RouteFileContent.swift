import AppScheme

/// What a file that `parse` takes routes from holds.
enum RouteFileContent {
    /// Routes alone.
    case routes(AppRoutes)
    /// A whole configuration.
    case configuration(RunConfiguration)
}
